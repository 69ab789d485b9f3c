import { detachNetwork } from './attach.ts';
import { ownsSlot, releaseSlot } from './slots.ts';

/** Whose slots they are, and where the servers of this host agree on them. */
interface SlotOwner {
  readonly dataDir: string;
  readonly stateDir: string | undefined;
}

/** Takes away the links of those of these slots that are still the sandbox's: it is cut off from the network. */
export const detachSlots = async (owner: SlotOwner, id: string, slots: readonly number[]): Promise<void> => {
  const { dataDir, stateDir } = owner;
  for (const slot of slots) {
    if (await ownsSlot({ dataDir, stateDir, id, slot })) await detachNetwork({ slot });
  }
};

/**
 * Takes away the links of these slots and gives the slots back. One that was given back a moment before a crash may
 * belong to another sandbox by now: then it is left alone.
 */
export const freeSlots = async (owner: SlotOwner, id: string, slots: readonly number[]): Promise<void> => {
  const { dataDir, stateDir } = owner;
  for (const slot of slots) {
    const owned = { dataDir, stateDir, id, slot };
    if (!(await ownsSlot(owned))) continue;
    await detachNetwork({ slot });
    await releaseSlot(owned);
  }
};
