import { openSync, readSync, writeSync } from 'node:fs';

/** So much more likely than the agent a process is chosen when memory runs out (proc_pid_oom_score_adj(5)). */
const DISTANCE = 500;

const open = (): { fd: number; own: number } | undefined => {
  try {
    const fd = openSync('/proc/self/oom_score_adj', 'r+');
    const buffer = Buffer.alloc(16);
    return { fd, own: Number(buffer.toString('latin1', 0, readSync(fd, buffer, 0, 16, 0))) };
  } catch {
    // A kernel that does not show it does not use it either.
    return undefined;
  }
};

const file = open();

/**
 * Runs `spawn` so that the child comes up as a better victim than the agent: the score is inherited, and set afterwards it
 * would miss what the child has forked by then. Going back is always allowed, because whoever set the agent's own score was
 * allowed to, and the kernel remembers that as the lowest one.
 */
export const withOomScore = <T>(spawn: () => T): T => {
  if (file === undefined) return spawn();
  const { fd, own } = file;
  writeSync(fd, String(own < 0 ? 0 : Math.min(1000, own + DISTANCE)), 0);
  try {
    return spawn();
  } finally {
    writeSync(fd, String(own), 0);
  }
};
