type Collect = (options: { type: 'minor' | 'major'; execution: 'sync'; flavor?: 'last-resort' }) => void;

let collect: Collect | undefined;

/** Runs the collector and blocks meanwhile: about a millisecond for `minor`, some 20 for `major`, which gives back all it can. */
export const collectGarbage = (type: 'minor' | 'major'): void => {
  if (collect === undefined) {
    const { setFlagsFromString } = process.getBuiltinModule('node:v8');
    // Node gives programs no other way to the collector than this function behind a flag.
    setFlagsFromString('--expose-gc');
    collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as Collect;
    setFlagsFromString('--no-expose-gc');
  }
  collect({ type, execution: 'sync', ...(type === 'major' ? { flavor: 'last-resort' } : {}) });
};
