import { lstatSync, readlinkSync } from 'node:fs';
import { ImageError } from '../../image-error.ts';

/** The kernel's own limit: path_resolution(7). */
const maxLinks = 40;

/**
 * Resolves `name` under `root` as for a process whose root directory is `root`: links are followed inside only, `..`
 * stops at the root. The last component is not followed unless `followLast`; missing components are kept as written.
 * The result contains no link, so that it can be used as long as no other process changes the tree. Throws `unsafe` for
 * more links than the kernel follows.
 */
export function containedPath(root: string, name: string, { followLast = false } = {}): string {
  const pending = toParts(name).reverse();
  let resolved: string[] = [];
  let links = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === '..') {
      resolved.pop();
      continue;
    }
    const path = [root, ...resolved, part].join('/');
    const isLink =
      (pending.length > 0 || followLast) && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
    if (!isLink) {
      resolved.push(part);
      continue;
    }
    links += 1;
    if (links > maxLinks) throw new ImageError('unsafe', `too many links in the path of ${name}`);
    const target = readlinkSync(path);
    if (target.startsWith('/')) resolved = [];
    pending.push(...toParts(target).reverse());
  }
  return [root, ...resolved].join('/');
}

function toParts(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}
