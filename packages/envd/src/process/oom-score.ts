import { openSync, readSync, writeSync } from 'node:fs';

/** How far above the agent's score a process is, so that the kernel kills it first (proc_pid_oom_score_adj(5)). */
const DISTANCE = 500;
const MAX_SCORE = 1000;

/** The `oom_score_adj` of this process. Both throw what the kernel refuses. */
export interface OomScoreFile {
  read(): number;
  write(score: number): void;
}

/** Undefined where the kernel does not show it: such a kernel does not use it either. */
const openOwn = (): OomScoreFile | undefined => {
  try {
    const fd = openSync('/proc/self/oom_score_adj', 'r+');
    return {
      read: () => {
        const buffer = Buffer.alloc(16);
        return Number(buffer.toString('latin1', 0, readSync(fd, buffer, 0, 16, 0)));
      },
      write: (score) => void writeSync(fd, String(score), 0),
    };
  } catch {
    return undefined;
  }
};

const isWritten = (file: OomScoreFile, score: number): boolean => {
  try {
    file.write(score);
    return true;
  } catch {
    // A worse choice of victims when memory runs out is better than a command that does not start, or that runs and is in no table.
    return false;
  }
};

/**
 * Returns a function that runs `spawn` so that the child comes up as a better victim than the agent: the score is inherited,
 * and set afterwards it would miss what the child has forked by then. The agent's own score is the same before and after, where
 * the kernel lets it: never below 0, as going back there takes CAP_SYS_RESOURCE once CRIU has restored the process. A refused
 * write changes nothing about the result of `spawn`.
 */
export const createOomScore = (file: OomScoreFile | undefined): (<T>(spawn: () => T) => T) => {
  if (file === undefined) return (spawn) => spawn();
  const own = Math.max(0, file.read());
  const raised = Math.min(MAX_SCORE, own + DISTANCE);
  return (spawn) => {
    if (!isWritten(file, raised)) return spawn();
    try {
      return spawn();
    } finally {
      isWritten(file, own);
    }
  };
};

/** Works with the score of this process. */
export const withOomScore = createOomScore(openOwn());
