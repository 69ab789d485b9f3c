import { readFileSync } from 'node:fs';
import { RuntimeError } from '../../error.ts';

/**
 * Throws `unavailable` when one of the processes is traced, ptrace(2): a process has one tracer, and CRIU has to be that. It
 * would try for 10 s.
 */
export const requireUntraced = (pids: readonly number[]): void => {
  for (const pid of pids) {
    if (/^TracerPid:\s+[1-9]/m.test(readStatus(pid)))
      throw new RuntimeError('unavailable', 'a process is traced');
  }
};

/** proc_pid_status(5) */
const readStatus = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    // It is gone by now.
    return '';
  }
};
