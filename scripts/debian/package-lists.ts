/**
 * Debian package → the program that it is installed for, or a file where it has none, with `*` for what differs between hosts. Of
 * several programs, each is enough.
 */
export type PackageList = Readonly<Record<string, string | readonly string[]>>;

/** What a server of this checkout needs, as root. */
export const ofServer: PackageList = {
  crun: ['crun', 'runc'],
  e2fsprogs: 'mkfs.ext4',
  iproute2: 'ip',
  libnftables1: '/usr/lib*/{,*/}libnftables.so.1',
  mmdebstrap: 'mmdebstrap',
  tini: 'tini-static',
};

/** Installed for the tests. None has a service that is enabled. */
export const ofTests: PackageList = {
  attr: 'setfattr',
  'busybox-static': 'busybox',
  crun: 'crun',
  curl: 'curl',
  'fuse-overlayfs': 'fuse-overlayfs',
  gpg: 'gpg',
  'musl-tools': 'musl-gcc',
  nftables: 'nft',
  openssl: 'openssl',
  runc: 'runc',
  slirp4netns: 'slirp4netns',
  uidmap: 'newuidmap',
};

/** Installed for the tests of `pnpm test:more` alone. */
export const ofMore: PackageList = {
  buildah: 'buildah',
  fish: 'fish',
  'python3-h2': '/usr/lib/python3/dist-packages/h2/__init__.py',
  'python3-httpx': '/usr/lib/python3/dist-packages/httpx/__init__.py',
  'python3-swift': '/usr/lib/python3/dist-packages/swift/__init__.py',
  zsh: 'zsh',
};
