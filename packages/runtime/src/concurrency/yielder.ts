import { setImmediate as nextTurn } from 'node:timers/promises';

const TURN_MS = 4;

/**
 * Returns a function for a long loop to await in each round: every few milliseconds it yields to other work of this
 * process.
 */
export const createYielder = (): (() => Promise<void>) => {
  let endsAt = performance.now() + TURN_MS;
  return async () => {
    if (performance.now() <= endsAt) return;
    await nextTurn();
    endsAt = performance.now() + TURN_MS;
  };
};
