import { detachNetwork } from '../../network/attach.ts';
import { ownsSlot, releaseSlot } from '../../network/slots.ts';
import type { OciHost } from './host.ts';

/** Takes away the links of those of these slots that are still the sandbox's: it is cut off from the network. */
export const detachSlots = async (host: OciHost, id: string, slots: readonly number[]): Promise<void> => {
  const { dataDir, stateDir } = host;
  for (const slot of slots) {
    if (await ownsSlot({ dataDir, stateDir, id, slot })) await detachNetwork({ slot });
  }
};

/**
 * Takes away the links of these slots and gives the slots back. One that was given back a moment before a crash may
 * belong to another sandbox by now: then it is left alone.
 */
export const freeSlots = async (host: OciHost, id: string, slots: readonly number[]): Promise<void> => {
  const { dataDir, stateDir } = host;
  for (const slot of slots) {
    const owned = { dataDir, stateDir, id, slot };
    if (!(await ownsSlot(owned))) continue;
    await detachNetwork({ slot });
    await releaseSlot(owned);
  }
};
