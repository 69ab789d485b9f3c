import { releaseFreeMemory } from './libc.ts';

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** V8 frees pages on other threads after the collection. */
const SWEEP_MS = 500;

/**
 * Gives back what loading has left in the heaps, a quarter of what an idle sandbox occupies: V8 and the C library would keep
 * it until there is more to do. Blocks for some 20 ms.
 */
export const trimHeap = (): void => {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  // Node gives programs no other way to the collector than this function behind a flag.
  setFlagsFromString('--expose-gc');
  const collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setTimeout(releaseFreeMemory, SWEEP_MS);
};
