import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';

/** Far above any real account file; root inside the sandbox may write whatever it likes there. */
const MAX_BYTES = 4 * 1024 * 1024;

export interface AccountFile {
  /** The fields of each line, from the file as it is now. Empty when there is no such file. */
  rows(): readonly (readonly string[])[];
}

const readRegularFile = (fd: number, sizeBytes: number): string => {
  const buffer = Buffer.alloc(Math.min(sizeBytes, MAX_BYTES));
  let used = 0;
  while (used < buffer.length) {
    const count = readSync(fd, buffer, used, buffer.length - used, used);
    if (count === 0) break;
    used += count;
  }
  return buffer.toString('utf8', 0, used);
};

const toStamp = ({ ino, mtimeMs, ctimeMs, size }: Stats): string => `${ino}:${mtimeMs}:${ctimeMs}:${size}`;

/**
 * Reads a colon-separated file such as `/etc/passwd` (passwd(5)) and reads it again whenever it has changed, since users
 * come and go inside a sandbox. Opened without blocking, because a FIFO put in its place would stop the agent.
 */
export const createAccountFile = (path: string): AccountFile => {
  let stamp = '';
  let rows: readonly (readonly string[])[] = [];
  const read = (): void => {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stats = fstatSync(fd);
      const text = stats.isFile() ? readRegularFile(fd, stats.size) : '';
      rows = text
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => line.split(':'));
      stamp = toStamp(stats);
    } finally {
      closeSync(fd);
    }
  };
  return {
    rows() {
      try {
        // Asked for on every call: one system call instead of three while nothing has changed.
        if (toStamp(statSync(path)) !== stamp) read();
        return rows;
      } catch {
        // A root file system without the file has no accounts but root.
        return [];
      }
    },
  };
};
