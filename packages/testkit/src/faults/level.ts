/** What stands between a sandbox and the host's kernel, as `skerry up --isolation` takes it. */
export type Level = 'container' | 'gvisor';

/** Operations that sandboxes of a level are refused; docs/isolation.md says why. */
export const leftOut: Record<Level, readonly string[]> = {
  container: [],
  gvisor: ['fork', 'snapshot with memory'],
};

/** Those of the operations that sandboxes of the level can do. */
export const offeredOf = <T>(operations: Record<string, T>, level: Level): Record<string, T> =>
  Object.fromEntries(Object.entries(operations).filter(([kind]) => !leftOut[level].includes(kind)));

/** What a server is started with. */
export const toArgs = (level: Level): readonly string[] => ['--isolation', level];
