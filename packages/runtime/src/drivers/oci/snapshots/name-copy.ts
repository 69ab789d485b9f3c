import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { isDiskFull } from '../../../kernel/is-disk-full.ts';
import { openPlainFolder } from './open-plain-folder.ts';

/**
 * Writes the host name of a copy into the files in /etc of its disk, which is mounted at `disk`: `hostname`, and the
 * line of `hosts` that `makeDisk` wrote. In place: a process may watch them. Does nothing about files that code inside
 * has replaced or removed, or where the disk has no room for another name.
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
    const { size } = fstatSync(file);
    if (size > MAX_BYTES) return;
    const bytes = Buffer.alloc(size);
    readSync(file, bytes, 0, bytes.length, 0);
    // Latin-1 keeps every byte: the rest of the file need not be text.
    const changed = Buffer.from(change(bytes.toString('latin1')), 'latin1');
    if (changed.equals(bytes)) return;
    const written = writeSome(file, changed);
    const isWhole = written === changed.length;
    // Write the old bytes back over existing ones, which needs no room.
    if (!isWhole) writeSync(file, bytes, 0, Math.min(written, bytes.length), 0);
    ftruncateSync(file, isWhole ? changed.length : bytes.length);
  } finally {
    closeSync(file);
  }
};

/** The number of bytes for which there was room. */
const writeSome = (file: number, bytes: Buffer): number => {
  try {
    return writeSync(file, bytes, 0, bytes.length, 0);
  } catch (error) {
    if (isDiskFull(error)) return 0;
    throw error;
  }
};

/**
 * Checked first: an overlay has a device in the place of a removed file, and this disk refuses to open devices. Nothing
 * runs yet that could change it meanwhile. Follows no link.
 */
const openOwn = (path: string): number | undefined => {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
  return openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
};
