import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { ImageError } from '../image-error.ts';
import { containedPath } from '../oci/layer/contained-path.ts';

/** The most bytes of a text file that is read: account databases and the like. */
const MAX_BYTES = 1 << 20;

/**
 * Reads a text file of the image, found as the image's own processes would find it; undefined when there is none. Throws
 * `unsuitable_image` for more than 1 MiB.
 */
export function readRootfsFile(root: string, name: string): string | undefined {
  const path = containedPath(root, name, { followLast: true });
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found?.isFile()) return undefined;
  if (found.size > MAX_BYTES)
    throw new ImageError('unsuitable_image', `the file ${name} of the image is larger than 1 MiB`);
  return readFileSync(path, 'utf8');
}

/** Whether the image's own processes would find a plain file at `name`, also through links. */
export function isRootfsFile(root: string, name: string): boolean {
  const path = containedPath(root, name, { followLast: true });
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** Replaces `name`, also a link, by a plain file of root's, and makes missing parents. */
export function writeRootfsFile(root: string, name: string, text: string, { mode = 0o644 } = {}): void {
  const path = containedPath(root, name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, text, { flag: 'wx' });
  chownSync(path, 0, 0);
  chmodSync(path, mode); // The umask would reduce the mode of an open call.
}

/** Changes the text of a file in place and keeps its owner and mode; a missing file is made with mode 0644. */
export function editRootfsFile(root: string, name: string, edit: (text: string) => string): void {
  const text = readRootfsFile(root, name);
  if (text === undefined) writeRootfsFile(root, name, edit(''));
  else writeFileSync(containedPath(root, name, { followLast: true }), edit(text));
}
