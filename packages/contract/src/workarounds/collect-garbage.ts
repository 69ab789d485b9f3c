/**
 * Program: Node.js
 * Does: Obtains the function `gc` by setting V8's flag for it for a moment, and calls it.
 * Why not the promised way: Node offers programs no other access to the collector; `node --expose-gc` would expose the function to
 * all code of the process.
 * Source: https://nodejs.org/docs/latest-v24.x/api/v8.html#v8setflagsfromstringflags, which warns of changes after the start
 * When it no longer fits: `gc` would be missing and the first call throws, which the tests of both users detect.
 * Test: ../passing-buffers.test.ts
 * Bench row: file.download, agent.output
 */
type Collect = (options: { type: 'minor' | 'major'; execution: 'sync'; flavor?: 'last-resort' }) => void;

let collect: Collect | undefined;

/**
 * Runs the collector and blocks meanwhile: about a millisecond for `minor`, some 20 for `major`, which frees all it
 * can.
 */
export const collectGarbage = (type: 'minor' | 'major'): void => {
  if (collect === undefined) {
    // Loaded at the first call: few sandboxes need them.
    const { setFlagsFromString } = process.getBuiltinModule('node:v8');
    setFlagsFromString('--expose-gc');
    collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as Collect;
    setFlagsFromString('--no-expose-gc');
  }
  collect({ type, execution: 'sync', ...(type === 'major' ? { flavor: 'last-resort' } : {}) });
};
