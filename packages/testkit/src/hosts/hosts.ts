/** A host of the table: what its guest is built from. */
export interface LabHost {
  name: string;
  title: string;
  /** Release of Debian. */
  suite: string;
  /** Package of the kernel, as apt takes it. */
  kernel: string;
  /** Lines of sources beside the release itself. */
  extraSources?: readonly string[];
}

const mirror = 'http://deb.debian.org/debian';

/** The hosts that the lab can build, in the order in which they are run. */
export const labHosts: readonly LabHost[] = [
  { name: 'debian12', title: 'Debian 12', suite: 'bookworm', kernel: 'linux-image-cloud-amd64' },
  { name: 'debian13', title: 'Debian 13', suite: 'trixie', kernel: 'linux-image-cloud-amd64' },
  {
    name: 'debian12-backports',
    title: 'Debian 12, kernel of the backports',
    suite: 'bookworm',
    kernel: 'linux-image-cloud-amd64/bookworm-backports',
    extraSources: [`deb ${mirror} bookworm-backports main`],
  },
  {
    name: 'debian13-generic',
    title: 'Debian 13, generic kernel',
    suite: 'trixie',
    kernel: 'linux-image-amd64',
  },
];

/** What every guest holds beside its kernel: skerry's own requirements and what makes it an ordinary server. */
export const guestPackages: readonly string[] = [
  ...['systemd-sysv', 'dbus', 'dbus-user-session', 'libpam-systemd', 'udev', 'kmod', 'initramfs-tools'],
  ...['iproute2', 'iptables', 'nftables', 'apparmor', 'procps', 'python3', 'ca-certificates', 'curl'],
  ...['crun', 'runc', 'tini', 'mmdebstrap', 'libseccomp2', 'uidmap', 'slirp4netns', 'fuse-overlayfs'],
  ...['e2fsprogs', 'xfsprogs', 'login', 'passwd', 'strace', 'less', 'xz-utils', 'file'],
];

/** Sources of a host, one a line of apt. */
export const toSources = ({ suite, extraSources = [] }: LabHost): string[] => [
  `deb ${mirror} ${suite} main`,
  `deb ${mirror} ${suite}-updates main`,
  `deb http://security.debian.org/debian-security ${suite}-security main`,
  ...extraSources,
];
