import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';
import { systemPath } from '../../run-command.ts';
import type { CgroupLayout } from './cgroup.ts';
import type { SandboxFolder } from './folder.ts';

/** A program that starts a container from a bundle. It does not stay: nothing of it is left once the container runs. */
export interface OciRuntime {
  readonly name: 'crun' | 'runc';
  /** Whether it takes a seccomp filter that is compiled already. */
  readonly takesSeccompProgram: boolean;
  /**
   * Starts the container of the folder's bundle and resolves with the pid of its first process, which inherits
   * `lifeFd`. Rejects with `internal` when the runtime refuses; some of the container may exist then.
   */
  start(options: { id: string; folder: SandboxFolder; lifeFd: number; signal: AbortSignal }): Promise<number>;
}

/** The first of crun and runc that is installed. @throws RuntimeError `unsupported` when none is */
export const findOciRuntime = (layout: CgroupLayout): OciRuntime => {
  const crun = findProgram('crun');
  if (crun) {
    const command = layout.hybrid ? [...withoutUnifiedTree, crun] : [crun];
    return toRuntime('crun', [...command, '--cgroup-manager=cgroupfs']);
  }
  const runc = findProgram('runc');
  if (runc) return toRuntime('runc', [runc]);
  throw new RuntimeError('unsupported', 'neither crun nor runc is installed');
};

/**
 * crun refuses to start beside a version 2 tree that owns controllers. It gets a private mount namespace where that
 * tree is not mounted; the host's stays as it is.
 */
const withoutUnifiedTree = [
  ...['unshare', '--mount', '--propagation', 'private'],
  ...['sh', '-c', 'umount /sys/fs/cgroup/unified && exec "$@"', 'sh'],
];

const findProgram = (name: string): string | undefined =>
  systemPath
    .split(':')
    .map((folder) => `${folder}/${name}`)
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        // Not in this folder, or not ours to run: the next may have it.
        return false;
      }
    });

const toRuntime = (name: OciRuntime['name'], command: string[]): OciRuntime => ({
  name,
  takesSeccompProgram: name === 'crun',
  start: async ({ id, folder, lifeFd, signal }) => {
    const [file = name, ...prefix] = command;
    const args = [
      ...prefix,
      ...['--root', folder.ociState, '--log', folder.ociLog],
      ...['run', '--detach', '--preserve-fds', '1'],
      ...['--bundle', folder.path, '--pid-file', folder.pidFile, id],
    ];
    // The container keeps the first three descriptors: a pipe or a file of the host must not be among them.
    const child = spawn(file, args, {
      stdio: ['ignore', 'ignore', 'ignore', lifeFd],
      env: { PATH: systemPath },
      signal,
      killSignal: 'SIGKILL',
    });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('exit', resolve);
    });
    if (code !== 0) {
      const log = await readFile(folder.ociLog, 'utf8').catch(() => '');
      throw new RuntimeError('internal', `${name} exited with ${code}: ${log.trim().slice(-2000)}`);
    }
    return Number(await readFile(folder.pidFile, 'utf8'));
  },
});
