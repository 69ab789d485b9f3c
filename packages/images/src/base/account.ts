import { chmodSync, existsSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { cp, lchown, lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ImageError } from '../image-error.ts';
import { containedPath } from '../oci/layer/contained-path.ts';
import { editRootfsFile, isRootfsFile, readRootfsFile, writeRootfsFile } from './rootfs-file.ts';

const name = 'user';
/** The number of the user and of its group. */
export const userId = 1000;
const home = '/home/user';
/** What a home may begin with. */
const SKEL_BYTES = 64 << 20;

/**
 * Adds the account `user` to the image, uid and gid 1000, with bash as its shell, or sh where that is missing, a home made from the image's skel and
 * sudo without a password. Replaces another account of that name or number. Idempotent; runs nothing of the image. Rejects
 * with `unsuitable_image` when a file that it changes is too large.
 */
export async function ensureUser(root: string): Promise<void> {
  const shell = isRootfsFile(root, '/bin/bash') ? '/bin/bash' : '/bin/sh';
  editRootfsFile(root, '/etc/passwd', (text) =>
    replaceEntry(withRoot(text, `root:x:0:0:root:/root:${shell}`), [
      name,
      'x',
      `${userId}`,
      `${userId}`,
      '',
      home,
      shell,
    ]),
  );
  editRootfsFile(root, '/etc/group', (text) =>
    replaceEntry(withRoot(text, 'root:x:0:'), [name, 'x', `${userId}`, '']),
  );
  // "*": no password is accepted. No day of its last change: PAM ends the sessions of su and cron for a password of day 0.
  editShadow(root, '/etc/shadow', [name, '*', '', '0', '99999', '7', '', '', '']);
  editShadow(root, '/etc/gshadow', [name, '!', '', '']);
  await makeHome(root);
  writeRootfsFile(
    root,
    '/etc/sudoers.d/user',
    // Resolving the host's name would print an error in a sandbox without a network.
    `Defaults !fqdn\n${name} ALL=(ALL:ALL) NOPASSWD: ALL\n`,
    { mode: 0o440 },
  );
}

/** An image without any account gets root. */
const withRoot = (text: string, entry: string): string =>
  /^[^:\n]+:[^:\n]*:0:/m.test(text) ? text : `${entry}\n${text}`;

/** Removes the entries of a colon-separated database that have the same name or the same number, and adds this one. */
function replaceEntry(text: string, entry: string[]): string {
  const kept = text
    .split('\n')
    .filter((line) => line !== '')
    .filter((line) => {
      const [otherName, , otherId] = line.split(':');
      return otherName !== entry[0] && otherId !== entry[2];
    });
  return `${[...kept, entry.join(':')].join('\n')}\n`;
}

/** The shadow databases have no numbers: entries are found by name. An image without shadow(5) gets none. */
function editShadow(root: string, file: string, entry: string[]): void {
  if (readRootfsFile(root, file) === undefined) return;
  editRootfsFile(root, file, (text) => {
    const kept = text.split('\n').filter((line) => line !== '' && line.split(':')[0] !== entry[0]);
    return `${[...kept, entry.join(':')].join('\n')}\n`;
  });
}

async function makeHome(root: string): Promise<void> {
  const path = containedPath(root, home);
  if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    rmSync(path, { force: true });
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    const skel = containedPath(root, '/etc/skel', { followLast: true });
    if (existsSync(skel)) await copySkel(skel, path);
    else mkdirSync(path);
  }
  await giveAway(path);
  chmodSync(path, 0o755);
}

async function copySkel(skel: string, path: string): Promise<void> {
  let sizeBytes = 0;
  const filter = (source: string): boolean => {
    sizeBytes += lstatSync(source).size;
    if (sizeBytes <= SKEL_BYTES) return true;
    throw new ImageError('unsuitable_image', 'the folder /etc/skel of the image is larger than 64 MiB');
  };
  await cp(skel, path, { recursive: true, verbatimSymlinks: true, filter });
}

async function giveAway(path: string): Promise<void> {
  await lchown(path, userId, userId);
  if (!(await lstat(path)).isDirectory()) return;
  for (const child of await readdir(path)) await giveAway(join(path, child));
}
