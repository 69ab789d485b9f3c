import type { Clock } from './clock.ts';

/** Acts on announced ends, each once, at its time. */
export interface Expiry {
  /**
   * Acts at once on an end that has passed. An earlier end that was announced for this id stays: the listener checks
   * the row anyway, and announcements may arrive in another order than the rows were written.
   */
  schedule(id: string, endAt: number): void;
  cancel(id: string): void;
  close(): void;
}

// Ends are grouped in slots of this size, so that one timer serves all of them; it bounds how late an end is.
const SLOT_MS = 250;

/**
 * Slots with one timer, set for the earliest. `onDue` is called up to 250 ms after an end, never before.
 */
export const createExpiry = (options: {
  clock: Pick<Clock, 'now' | 'after'>;
  onDue: (id: string) => void;
}): Expiry => {
  const { clock, onDue } = options;
  const slots = new Map<number, Set<string>>();
  const slotOf = new Map<string, number>();
  let armed: { slot: number; disarm: () => void } | undefined;

  const arm = (): void => {
    let earliest = Number.POSITIVE_INFINITY;
    for (const slot of slots.keys()) earliest = Math.min(earliest, slot);
    if (armed?.slot === earliest) return;
    armed?.disarm();
    armed = undefined;
    if (earliest === Number.POSITIVE_INFINITY) return;
    armed = { slot: earliest, disarm: clock.after(earliest * SLOT_MS - clock.now(), turn) };
  };

  const remove = (id: string): void => {
    const slot = slotOf.get(id);
    if (slot === undefined) return;
    slotOf.delete(id);
    const ids = slots.get(slot);
    ids?.delete(id);
    if (ids?.size === 0) slots.delete(slot);
  };

  const turn = (): void => {
    armed = undefined;
    const now = clock.now();
    const due: string[] = [];
    for (const [slot, ids] of slots) if (slot * SLOT_MS <= now) due.push(...ids);
    for (const id of due) remove(id);
    arm();
    for (const id of due) onDue(id);
  };

  return {
    schedule: (id, endAt) => {
      const slot = Math.ceil(endAt / SLOT_MS);
      if ((slotOf.get(id) ?? Number.POSITIVE_INFINITY) <= slot) return;
      remove(id);
      const ids = slots.get(slot) ?? new Set();
      slots.set(slot, ids.add(id));
      slotOf.set(id, slot);
      arm();
    },
    cancel: (id) => {
      remove(id);
      arm();
    },
    close: () => {
      armed?.disarm();
      armed = undefined;
      slots.clear();
      slotOf.clear();
    },
  };
};
