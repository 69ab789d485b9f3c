import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ImageError } from '../image-error.ts';
import { readHostAptOptions } from './apt-options.ts';
import { addLocales } from './locales.ts';
import type { OnProgress } from './progress.ts';
import type { BaseRecipe } from './recipe.ts';
import { isRootfsFile } from './rootfs-file.ts';
import { findProgram, runProgram } from './run-program.ts';

/**
 * The capabilities that package scripts need, and no more: none over mounts, devices, the network or processes of the
 * host.
 */
const capabilities = [
  ...['CAP_CHOWN', 'CAP_DAC_OVERRIDE', 'CAP_FOWNER', 'CAP_FSETID', 'CAP_KILL', 'CAP_SETFCAP'],
  ...['CAP_SETGID', 'CAP_SETPCAP', 'CAP_SETUID', 'CAP_SYS_CHROOT'],
];

/** Debian packages of a base template that an image lacks. */
export function findMissing(rootfs: string, { packages }: BaseRecipe): string[] {
  return Object.entries(packages)
    .filter(([, file]) => !isRootfsFile(rootfs, file))
    .map(([name]) => name);
}

/**
 * Installs what a pulled image lacks of the base template, with the image's own apt, in a container that shares only
 * the host's network. Runs nothing when the image is complete. Rejects with `unsuitable_image` when it has no apt,
 * `missing_program` without crun, `build_failed`, or the reason of `signal`.
 */
export async function installMissing(options: {
  recipe: BaseRecipe;
  rootfs: string;
  /** For the container's bundle; on the file system of the image. */
  workDir: string;
  onProgress: OnProgress;
  signal?: AbortSignal | undefined;
}): Promise<void> {
  const { recipe, rootfs, workDir, onProgress, signal } = options;
  const missing = findMissing(rootfs, recipe);
  if (missing.length === 0) return;
  if (!isRootfsFile(rootfs, '/usr/bin/apt-get'))
    throw new ImageError('unsuitable_image', `the image has no apt to install ${missing.join(', ')}`);
  onProgress({ phase: 'install', message: `installing ${missing.join(', ')}`, fraction: 0.8 });
  const aptOptions = (await readHostAptOptions()).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  const script = [
    'apt-get update -q "$@"',
    'apt-get install -q -y --no-install-recommends "$@" -- $MISSING',
    addLocales(recipe),
  ].join(' && ');
  const spec = toContainer({
    rootfs,
    args: ['/bin/sh', '-c', script, 'sh', ...aptOptions],
    env: { MISSING: missing.join(' '), DEBIAN_FRONTEND: 'noninteractive' },
  });
  await writeFile(join(workDir, 'config.json'), JSON.stringify(spec));
  const crun = [
    ...[findProgram('crun'), '--root', join(workDir, 'crun'), '--cgroup-manager=disabled'],
    ...['run', '--bundle', workDir, 'install'],
  ];
  await runProgram({
    file: '/bin/sh',
    // crun refuses hosts with both cgroup versions mounted; version 2 is unmounted in this namespace only.
    args: ['-c', 'umount -q /sys/fs/cgroup/unified || true; exec "$@"', 'sh', ...crun],
    signal,
  });
  const still = findMissing(rootfs, recipe);
  if (still.length > 0) throw new ImageError('build_failed', `apt did not install ${still.join(', ')}`);
}

/** A container's configuration by the OCI runtime specification. */
function toContainer(options: {
  rootfs: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
}): object {
  const { rootfs, args, env } = options;
  const path = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
  return {
    ociVersion: '1.0.2',
    hostname: 'build',
    root: { path: rootfs },
    process: {
      user: { uid: 0, gid: 0 },
      cwd: '/',
      args,
      env: [path, 'HOME=/root', ...Object.entries(env).map(([key, value]) => `${key}=${value}`)],
      noNewPrivileges: true,
      capabilities: { bounding: capabilities, effective: capabilities, permitted: capabilities },
    },
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755'] },
      {
        destination: '/dev/pts',
        type: 'devpts',
        source: 'devpts',
        options: ['newinstance', 'ptmxmode=0666'],
      },
      { destination: '/dev/shm', type: 'tmpfs', source: 'shm', options: ['nosuid', 'nodev', 'mode=1777'] },
      ...['/run', '/tmp'].map((destination) => ({ destination, type: 'tmpfs', source: 'tmpfs' })),
      {
        destination: '/etc/resolv.conf',
        type: 'bind',
        source: '/etc/resolv.conf',
        options: ['bind', 'ro', 'nosuid', 'nodev', 'noexec'],
      },
    ],
    linux: {
      namespaces: ['pid', 'mount', 'ipc', 'uts'].map((type) => ({ type })),
      maskedPaths: ['/proc/kcore', '/proc/keys', '/proc/timer_list', '/proc/sched_debug', '/proc/scsi'],
      readonlyPaths: ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
    },
  };
}
