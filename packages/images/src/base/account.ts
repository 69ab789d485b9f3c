import {
  chmodSync,
  cpSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { containedPath } from '../oci/contained-path.ts';
import { editRootfsFile, readRootfsFile, writeRootfsFile } from './rootfs-file.ts';

const name = 'user';
const id = 1000;
const home = '/home/user';

/**
 * Gives the image the account `user`, uid and gid 1000, bash as its shell, a home made from the image's skel and sudo without
 * a password. Another account of that name or number gives way. Idempotent; runs nothing of the image.
 */
export function ensureUser(root: string): void {
  editRootfsFile(root, '/etc/passwd', (text) =>
    replaceEntry(text, [name, 'x', `${id}`, `${id}`, '', home, '/bin/bash']),
  );
  editRootfsFile(root, '/etc/group', (text) => replaceEntry(text, [name, 'x', `${id}`, '']));
  // "*": no password opens it. 0: no age, so that the text does not depend on the day.
  editShadow(root, '/etc/shadow', [name, '*', '0', '0', '99999', '7', '', '', '']);
  editShadow(root, '/etc/gshadow', [name, '!', '', '']);
  makeHome(root);
  writeRootfsFile(
    root,
    '/etc/sudoers.d/user',
    // Looking up the host's name would fail loudly in a sandbox without a network.
    `Defaults !fqdn\n${name} ALL=(ALL:ALL) NOPASSWD: ALL\n`,
    { mode: 0o440 },
  );
}

/** Drops the entries of a colon-separated database that have the same name or the same number, and adds this one. */
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

/** The shadow databases have no numbers: only the name decides there. An image without shadow(5) stays without. */
function editShadow(root: string, file: string, entry: string[]): void {
  if (readRootfsFile(root, file) === undefined) return;
  editRootfsFile(root, file, (text) => {
    const kept = text.split('\n').filter((line) => line !== '' && line.split(':')[0] !== entry[0]);
    return `${[...kept, entry.join(':')].join('\n')}\n`;
  });
}

function makeHome(root: string): void {
  const path = containedPath(root, home);
  if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    rmSync(path, { force: true });
    mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
    const skel = containedPath(root, '/etc/skel', { followLast: true });
    if (existsSync(skel)) cpSync(skel, path, { recursive: true, verbatimSymlinks: true });
    else mkdirSync(path);
  }
  giveAway(path);
  chmodSync(path, 0o755);
}

function giveAway(path: string): void {
  lchownSync(path, id, id);
  if (!lstatSync(path).isDirectory()) return;
  for (const child of readdirSync(path)) giveAway(join(path, child));
}
