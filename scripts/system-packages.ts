// Makes sure that the host has the programs that skerry or its tests run. On Debian and Ubuntu as root it installs
// missing ones, elsewhere it prints the command to run and fails.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, globSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/** Debian package → a command that it contains, or a file where it has none. */
const required: Record<string, string> = {
  attr: 'setfattr',
  'busybox-static': 'busybox',
  crun: 'crun',
  curl: 'curl',
  'docker-registry': 'docker-registry',
  e2fsprogs: 'mkfs.ext4',
  'fuse-overlayfs': 'fuse-overlayfs',
  gpg: 'gpg',
  iproute2: 'ip',
  mmdebstrap: 'mmdebstrap',
  'musl-tools': 'musl-gcc',
  nftables: 'nft',
  openssl: 'openssl',
  postgresql: 'initdb',
  runc: 'runc',
  slirp4netns: 'slirp4netns',
  tini: 'tini-static',
  uidmap: 'newuidmap',
};

/** Only the tests of `pnpm test:more` need them. */
const forMore: Record<string, string> = {
  buildah: 'buildah',
  fish: 'fish',
  'nginx-light': 'nginx',
  'python3-swift': '/usr/lib/python3/dist-packages/swift/__init__.py',
  zsh: 'zsh',
};

const wanted = { ...required, ...(process.argv.includes('--more') ? forMore : {}) };
const folders = [
  ...(process.env.PATH ?? '').split(':'),
  ...['/usr/sbin', '/sbin', '/usr/bin', '/bin'],
  ...globSync('/usr/lib/postgresql/*/bin'),
];

function isInstalled(command: string): boolean {
  if (isAbsolute(command)) return existsSync(command);
  return folders.some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false; // Not in this folder.
    }
  });
}

const missing = Object.entries(wanted)
  .filter(([, command]) => !isInstalled(command))
  .map(([name]) => name);

if (missing.length > 0) {
  const line = `apt-get update && apt-get install -y --no-install-recommends ${missing.join(' ')}`;
  if (process.getuid?.() !== 0 || !isInstalled('apt-get')) {
    console.error(`skerry needs these programs on the host: ${missing.join(', ')}. Run as root:\n  ${line}`);
    process.exit(1);
  }
  console.error(`installing ${missing.join(' ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const install = ['install', '-y', '-qq', '--no-install-recommends', ...missing];
  for (const argv of [['update', '-qq'], install]) {
    // An index that one unrelated source could not refresh is good enough: the install decides.
    const { status } = spawnSync('apt-get', argv, { env, stdio: ['ignore', 2, 2] });
    if (status !== 0 && argv === install) process.exit(status ?? 1);
  }
}
