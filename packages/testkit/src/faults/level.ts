import type { IsolationLevel } from '@skerry/contract/isolation';

/** What a server is started with. */
export const toArgs = (level: IsolationLevel): readonly string[] => ['--isolation', level];
