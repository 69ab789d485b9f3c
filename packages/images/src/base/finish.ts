import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  truncateSync,
} from 'node:fs';
import { join } from 'node:path';
import { ImageError } from '../image-error.ts';
import { containedPath } from '../oci/layer/contained-path.ts';
import { ensureUser } from './account.ts';
import { documentation, dpkgOptions } from './debian/dpkg-options.ts';
import { setcapAptOption, setcapPath, setcapScript } from './debian/setcap-script.ts';
import { isRootfsFile, writeRootfsFile } from './rootfs-file.ts';
import { addWorkdir, type WorkdirConfig } from './workdir.ts';

// Content of one machine or one build: package lists and caches, logs, keys, backups of databases.
const cleared = ['/tmp', '/var/tmp', '/dev', '/etc/update-motd.d'];
/** Their folders stay, as programs rely on their owners and modes. */
const emptied = ['/var/lib/apt/lists', '/var/cache/apt', '/var/cache/ldconfig', '/var/log', '/run'];
const removed: [string, RegExp][] = [
  ['/etc', /^(passwd|group|shadow|gshadow|subuid|subgid)-$/],
  ['/etc/ssh', /^ssh_host_/],
  ['/var/cache/debconf', /-old$/],
];
const reason =
  '# A sandbox is thrown away: nothing here needs to outlive a power cut, and manuals are of no use.';

/**
 * Turns an unpacked file system with the base packages into the base template: the account, names and resolver as plain
 * files (a sandbox gets its own), nothing of the building machine, a silent login. `aptSources` replaces the image's
 * package sources. Runs nothing of the image; idempotent.
 */
export async function finishRootfs(
  root: string,
  { aptSources }: { aptSources?: string } = {},
): Promise<void> {
  await prepareForSandboxes(root);
  for (const path of emptied) empty(containedPath(root, path, { followLast: true }));
  for (const path of cleared) removeChildren(containedPath(root, path, { followLast: true }));
  for (const { folder, kept } of documentation)
    removeChildren(containedPath(root, folder, { followLast: true }), kept);
  keepLicences(containedPath(root, '/usr/share/doc', { followLast: true }));
  removeMatching(root);
  // Empty, not missing: machine-id(5) is filled in at the first boot.
  writeRootfsFile(root, '/etc/machine-id', '');
  writeRootfsFile(root, '/etc/motd', '');
  if (!isDebian(root)) return;
  // Packages link to a manual without making its folder, which every installation with manuals has.
  for (let section = 1; section <= 8; section += 1)
    makeDirectory(root, `/usr/share/man/man${section}`, 0o755);
  rmSync(containedPath(root, '/etc/dpkg/dpkg.cfg.d/99mmdebstrap'), { force: true });
  rmSync(containedPath(root, '/etc/apt/apt.conf.d/99mmdebstrap'), { force: true });
  writeRootfsFile(root, '/etc/dpkg/dpkg.cfg.d/sandbox', `${[reason, ...dpkgOptions].join('\n')}\n`);
  // Debian reserves the packages of Python for its own tools, and a sandbox is thrown away.
  writeRootfsFile(
    root,
    '/etc/pip.conf',
    '[global]\nbreak-system-packages = true\ndisable-pip-version-check = true\n',
  );
  writeRootfsFile(root, '/etc/apt/apt.conf.d/90sandbox', 'Acquire::Languages "none";\n');
  // There is no init: without this, installing a server would try to start it.
  writeRootfsFile(root, '/usr/sbin/policy-rc.d', '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  if (aptSources === undefined) return;
  removeChildren(containedPath(root, '/etc/apt/sources.list.d', { followLast: true }));
  rmSync(containedPath(root, '/etc/apt/sources.list'), { force: true });
  writeRootfsFile(root, '/etc/apt/sources.list.d/distribution.sources', aptSources);
}

/**
 * Adds to an unpacked file system what every sandbox needs of it: the account, mount points, names and resolver as plain
 * files (a sandbox gets its own), when it has a shell but no bash, a bash that is this shell, as commands run in a
 * login shell of bash, and when it has dpkg, a script in front of setcap(8). `config` names the working folder, which the image
 * may lack. Runs nothing of the image; idempotent. Rejects with `unsuitable_image` for an image in whose places these cannot be.
 */
export async function prepareForSandboxes(
  root: string,
  config: WorkdirConfig = { user: '', workdir: '' },
): Promise<void> {
  try {
    await addNeeded(root);
    addWorkdir(root, config);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!unsuitable.includes(code)) throw error;
    const message = `a file of the image is where sandboxes need a folder, or the reverse (${code})`;
    throw new ImageError('unsuitable_image', message, { cause: error });
  }
}

/** What the calls below fail with in an image whose files are of other kinds than theirs. */
const unsuitable = ['ENOTDIR', 'EISDIR', 'EEXIST', 'ELOOP', 'ERR_FS_CP_EINVAL', 'ERR_FS_EISDIR'];

async function addNeeded(root: string): Promise<void> {
  for (const path of ['/', '/proc', '/sys', '/dev', '/run', '/home']) makeDirectory(root, path, 0o755);
  if (!existsSync(containedPath(root, '/root', { followLast: true }))) makeDirectory(root, '/root', 0o700);
  for (const path of ['/tmp', '/var/tmp']) makeDirectory(root, path, 0o1777);
  await ensureUser(root);
  writeRootfsFile(root, '/etc/hostname', 'sandbox\n');
  writeRootfsFile(root, '/etc/hosts', '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n');
  writeRootfsFile(root, '/etc/resolv.conf', '');
  if (!isRootfsFile(root, '/bin/bash') && isRootfsFile(root, '/bin/sh'))
    writeRootfsFile(root, '/bin/bash', '#!/bin/sh\nexec /bin/sh "$@"\n', { mode: 0o755 });
  if (isDebian(root) && !isRootfsFile(root, setcapPath)) {
    writeRootfsFile(root, setcapPath, setcapScript, { mode: 0o755 });
    writeRootfsFile(root, '/etc/apt/apt.conf.d/90setcap', setcapAptOption);
  }
}

function isDebian(root: string): boolean {
  return isDirectory(containedPath(root, '/etc/dpkg', { followLast: true }));
}

function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

function makeDirectory(root: string, name: string, mode: number): void {
  const path = containedPath(root, name, { followLast: true });
  if (!isDirectory(path)) {
    rmSync(path, { force: true });
    mkdirSync(path, { recursive: true });
    chownSync(path, 0, 0);
  }
  chmodSync(path, mode);
}

function removeChildren(folder: string, kept: readonly string[] = []): void {
  if (!isDirectory(folder)) return;
  for (const child of readdirSync(folder))
    if (!kept.includes(child)) rmSync(join(folder, child), { recursive: true, force: true });
}

/** Removes every file below, but truncates logs: a program may not be allowed to create its log. */
function empty(folder: string): void {
  if (!isDirectory(folder)) return;
  for (const child of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, child.name);
    if (child.isDirectory()) empty(path);
    else if (child.isFile() && /\/var\/log(\/|$)/.test(folder)) truncateSync(path);
    else rmSync(path, { force: true });
  }
}

function keepLicences(folder: string): void {
  if (!isDirectory(folder)) return;
  for (const child of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, child.name);
    if (!child.isDirectory()) continue;
    for (const inner of readdirSync(path))
      if (inner !== 'copyright') rmSync(join(path, inner), { recursive: true, force: true });
  }
}

function removeMatching(root: string): void {
  for (const [name, pattern] of removed) {
    const folder = containedPath(root, name, { followLast: true });
    if (!isDirectory(folder)) continue;
    for (const child of readdirSync(folder))
      if (pattern.test(child)) rmSync(join(folder, child), { recursive: true, force: true });
  }
}
