import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { containedPath } from '../oci/contained-path.ts';

/** Text of a file of the image, found as the image's own processes would find it; undefined when there is none. */
export function readRootfsFile(root: string, name: string): string | undefined {
  const path = containedPath(root, name, { followLast: true });
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'utf8') : undefined;
}

/** Puts a plain file of root's in the place of whatever `name` is, a link included, and makes missing parents. */
export function writeRootfsFile(root: string, name: string, text: string, { mode = 0o644 } = {}): void {
  const path = containedPath(root, name);
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, text, { flag: 'wx' });
  chownSync(path, 0, 0);
  chmodSync(path, mode); // The mode of an open call would be cut by the umask.
}

/** Changes the text of a file in place and keeps its owner and mode; a missing file is made with mode 0644. */
export function editRootfsFile(root: string, name: string, edit: (text: string) => string): void {
  const text = readRootfsFile(root, name);
  if (text === undefined) writeRootfsFile(root, name, edit(''));
  else writeFileSync(containedPath(root, name, { followLast: true }), edit(text));
}
