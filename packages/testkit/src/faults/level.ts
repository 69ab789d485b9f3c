/** What stands between a sandbox and the host's kernel, as `skerry up --isolation` takes it. */
export type Level = 'container' | 'gvisor';

/** What a server is started with. */
export const toArgs = (level: Level): readonly string[] => ['--isolation', level];
