import { readdirSync } from 'node:fs';

/** The open files of a process, by their numbers as names; none of one that is gone. */
export const listDescriptors = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    // The process is gone by now.
    return [];
  }
};
