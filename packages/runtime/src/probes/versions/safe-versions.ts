/** The oldest version of a program that is safe to use in each of its release lines. */
export interface SafeVersions {
  program: 'kernel' | 'runsc' | 'criu' | 'node';
  /**
   * The oldest of each line, by numbers with points, oldest line first. A version of a line that is not listed counts as older,
   * unless it is above all of them.
   */
  least: readonly string[];
  /** How many numbers name a line. */
  lineNumbers: number;
  /** The defect that these releases fix, and why it matters here. */
  reason: string;
  /** How a newer one reaches this host. */
  mend: string;
}

/**
 * What `skerry doctor` warns of. When a defect becomes known that matters to sandboxes, its fixed releases go here, with the
 * number under which it is published. A program whose fixes distributions publish under numbers of their own, such as crun, is not
 * listed: its number shows nothing.
 */
export const safeVersions: readonly SafeVersions[] = [
  {
    program: 'kernel',
    lineNumbers: 2,
    least: ['5.15.213', '6.1.180', '6.6.147', '6.12.100', '6.18.41', '7.1.5', '7.2.0'],
    reason: 'CVE-2026-64560: any program may misuse freed memory of the kernel through its own timers',
    mend: 'apt-get update && apt-get dist-upgrade && reboot',
  },
  {
    program: 'runsc',
    lineNumbers: 1,
    least: ['20260824'],
    reason:
      'CVE-2026-96812: a device node of CUSE reaches the host. skerry puts no device of an image into a sandbox, which cannot make one',
    mend: 'install runsc from https://gvisor.dev/docs/user_guide/install/: skerry prefers it to the one that it unpacks',
  },
  {
    program: 'criu',
    lineNumbers: 1,
    least: ['4.2'],
    reason:
      'older ones do not restore on current kernels. skerry gives CRIU no name that a sandbox chooses (CVE-2026-119614)',
    mend: 'remove the folder criu from the folder of images: the next start fetches a new one',
  },
  {
    program: 'node',
    lineNumbers: 1,
    least: ['22.23.4', '24.22.1', '26.12.1'],
    reason: 'the security releases of October 2026 (CVE-2026-111497 and others); older lines get none',
    mend: 'start skerry with a newer Node.js: the agents of new sandboxes use the same one',
  },
];
