import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** What the file descriptors of a process lead to. */
export const openFilesOf = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(join(`/proc/${pid}/fd`, fd))];
    } catch {
      return []; // Closed meanwhile.
    }
  });
