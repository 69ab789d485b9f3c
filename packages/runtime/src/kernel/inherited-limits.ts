import { readFileSync } from 'node:fs';

/** A higher limit only slows down programs that close every possible descriptor. */
export const MAX_OPEN_FILES = 1_048_576;

export const oomScorePath = '/proc/self/oom_score_adj';

/** The number of files that a child of this process may have open: the hard limit, and at most `MAX_OPEN_FILES`. */
export const readOpenFilesLimit = (): number => {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const hard = /^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1];
  return Math.min(Number(hard ?? 1024), MAX_OPEN_FILES);
};
