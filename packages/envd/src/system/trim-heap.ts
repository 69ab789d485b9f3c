import { collectGarbage } from './collect-garbage.ts';
import { releaseFreeMemory } from './libc.ts';

/** V8 frees pages on other threads after the collection. */
const SWEEP_MS = 500;

/**
 * Gives back what loading has left in the heaps, a quarter of what an idle sandbox occupies: V8 and the C library would keep
 * it until there is more to do. Blocks for some 20 ms.
 */
export const trimHeap = (): void => {
  collectGarbage('major');
  setTimeout(releaseFreeMemory, SWEEP_MS);
};
