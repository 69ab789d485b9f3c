import { setImmediate as nextTurn } from 'node:timers/promises';

const TURN_MS = 4;

/** Returns what a long piece of work is to await again and again: every few milliseconds it yields to other work of this process. */
export const createYielder = (): (() => Promise<void>) => {
  let endsAt = performance.now() + TURN_MS;
  return async () => {
    if (performance.now() <= endsAt) return;
    await nextTurn();
    endsAt = performance.now() + TURN_MS;
  };
};
