import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { containedPath } from '../oci/contained-path.ts';
import { ensureUser } from './account.ts';
import { writeRootfsFile } from './rootfs-file.ts';

// What belongs to one machine or one build: package lists and caches, logs, keys, backups of databases.
const cleared = ['/tmp', '/var/tmp', '/dev', '/etc/update-motd.d'];
/** Their folders stay, as programs rely on the owners and modes of them. */
const emptied = ['/var/lib/apt/lists', '/var/cache/apt', '/var/cache/ldconfig', '/var/log', '/run'];
const removed: [string, RegExp][] = [
  ['/etc', /^(passwd|group|shadow|gshadow|subuid|subgid)-$/],
  ['/etc/ssh', /^ssh_host_/],
  ['/var/cache/debconf', /-old$/],
];
/** Documentation, as the slim images of the distributions leave it out; licences stay. */
const documentation = ['/usr/share/man', '/usr/share/info', '/usr/share/lintian', '/usr/share/locale'];

const dpkgOptions = [
  '# A sandbox is thrown away: nothing here needs to outlive a power cut, and nobody reads manuals.',
  'force-unsafe-io',
  'path-exclude=/usr/share/doc/*',
  'path-include=/usr/share/doc/*/copyright',
  ...documentation.map((path) => `path-exclude=${path}/*`),
  '',
].join('\n');

/**
 * Turns an unpacked file system with the base packages into the base template: the account, names and resolver as plain files
 * (a sandbox gets its own), nothing of the building machine, a silent login. `aptSources` replaces the image's package
 * sources. Runs nothing of the image; idempotent.
 */
export function finishRootfs(root: string, { aptSources }: { aptSources?: string } = {}): void {
  for (const path of ['/', '/proc', '/sys', '/dev', '/run', '/home']) makeDirectory(root, path, 0o755);
  for (const path of ['/tmp', '/var/tmp']) makeDirectory(root, path, 0o1777);
  ensureUser(root);
  for (const path of emptied) empty(containedPath(root, path, { followLast: true }));
  for (const path of [...cleared, ...documentation])
    removeChildren(containedPath(root, path, { followLast: true }));
  keepLicences(containedPath(root, '/usr/share/doc', { followLast: true }));
  removeMatching(root);
  writeRootfsFile(root, '/etc/hostname', 'sandbox\n');
  writeRootfsFile(root, '/etc/hosts', '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n');
  writeRootfsFile(root, '/etc/resolv.conf', '');
  // Empty, not missing: machine-id(5) says that it is filled in at the first boot.
  writeRootfsFile(root, '/etc/machine-id', '');
  writeRootfsFile(root, '/etc/motd', '');
  if (!isDebian(root)) return;
  rmSync(containedPath(root, '/etc/dpkg/dpkg.cfg.d/99mmdebstrap'), { force: true });
  rmSync(containedPath(root, '/etc/apt/apt.conf.d/99mmdebstrap'), { force: true });
  writeRootfsFile(root, '/etc/dpkg/dpkg.cfg.d/sandbox', dpkgOptions);
  writeRootfsFile(root, '/etc/apt/apt.conf.d/90sandbox', 'Acquire::Languages "none";\n');
  // There is no init: without this, installing a server would try to start it.
  writeRootfsFile(root, '/usr/sbin/policy-rc.d', '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  if (aptSources === undefined) return;
  removeChildren(containedPath(root, '/etc/apt/sources.list.d', { followLast: true }));
  rmSync(containedPath(root, '/etc/apt/sources.list'), { force: true });
  writeRootfsFile(root, '/etc/apt/sources.list.d/distribution.sources', aptSources);
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

function removeChildren(folder: string): void {
  if (!isDirectory(folder)) return;
  for (const child of readdirSync(folder)) rmSync(join(folder, child), { recursive: true, force: true });
}

/** Removes every file below, except that logs are cut to nothing: a program may not be allowed to make its log anew. */
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
