import { closeSync, constants, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { openPlainFolder } from './open-plain-folder.ts';

/**
 * Makes the files in /etc of a copied disk, which is mounted at `disk`, say the host name of the sandbox that it is for:
 * `hostname`, and the line of `hosts` that `makeDisk` wrote. In place: a process may watch them. Does nothing about what
 * whoever was inside has put there instead.
 */
export const nameCopy = ({ disk, hostname }: { disk: string; hostname: string }): void => {
  const etc = openPlainFolder(`${disk}/upper/etc`);
  if (etc === undefined) return;
  try {
    rewrite(`/proc/self/fd/${etc}/hostname`, () => `${hostname}\n`);
    rewrite(`/proc/self/fd/${etc}/hosts`, (text) =>
      text.replace(/^127\.0\.1\.1 [a-z0-9-]+$/m, `127.0.1.1 ${hostname}`),
    );
  } finally {
    closeSync(etc);
  }
};

const MAX_BYTES = 64 * 1024;

const rewrite = (path: string, change: (text: string) => string): void => {
  const file = openOwn(path);
  if (file === undefined) return;
  try {
    const status = fstatSync(file);
    if (!status.isFile() || status.size > MAX_BYTES) return;
    const bytes = Buffer.alloc(status.size);
    readSync(file, bytes, 0, bytes.length, 0);
    // By bytes: what else is in the file need not be text.
    const changed = Buffer.from(change(bytes.toString('latin1')), 'latin1');
    if (changed.equals(bytes)) return;
    writeSync(file, changed, 0, changed.length, 0);
    ftruncateSync(file, changed.length);
  } finally {
    closeSync(file);
  }
};

/** Neither follows a link nor waits for the other end of a pipe. */
const openOwn = (path: string): number | undefined => {
  try {
    return openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EISDIR', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? ''))
      return undefined;
    throw error;
  }
};
