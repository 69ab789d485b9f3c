import { detachNetwork } from './attach.ts';
import type { Gateway } from './gateway/gateway.ts';
import { ownsSlot, releaseSlot } from './slots.ts';

/** The owner of the slots, and the folder in which the servers of this host reserve them. */
interface SlotOwner {
  readonly dataDir: string;
  readonly stateDir: string | undefined;
  readonly gateway?: Gateway | undefined;
}

/** Removes the links of those of these slots that the sandbox still has: that cuts it off from the network. */
export const detachSlots = async (owner: SlotOwner, id: string, slots: readonly number[]): Promise<void> => {
  const { dataDir, stateDir, gateway } = owner;
  for (const slot of slots) {
    if (await ownsSlot({ dataDir, stateDir, id, slot })) await detachNetwork({ slot, gateway });
  }
};

/**
 * Removes the links of these slots and releases the slots. A slot that was released a moment before a crash may belong
 * to another sandbox by now and is then left alone.
 */
export const freeSlots = async (owner: SlotOwner, id: string, slots: readonly number[]): Promise<void> => {
  const { dataDir, stateDir, gateway } = owner;
  for (const slot of slots) {
    const owned = { dataDir, stateDir, id, slot };
    if (!(await ownsSlot(owned))) continue;
    await detachNetwork({ slot, gateway });
    await releaseSlot(owned);
  }
};
