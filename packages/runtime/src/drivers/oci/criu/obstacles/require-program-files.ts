import { readlinkSync } from 'node:fs';
import { ObstacleError } from '../../../../obstacle.ts';
import { observeProcess } from '../processes/observe-process.ts';

/**
 * Throws an `ObstacleError` when one of the processes runs a program that is a file in memory (memfd_create(2)): CRIU dumps
 * such a process and cannot restore it.
 */
export const requireProgramFiles = (pids: readonly number[]): void => {
  for (const pid of pids) {
    if (/^\/memfd:.* \(deleted\)$/s.test(readProgram(pid)))
      throw new ObstacleError({ kind: 'program_in_memory', process: observeProcess(pid) });
  }
};

const readProgram = (pid: number): string => {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    // The process has ended, and may be a zombie.
    return '';
  }
};
