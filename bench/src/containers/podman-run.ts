import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Benchmark } from '../harness/benchmark.ts';
import { toRow, toUnmeasuredRow } from '../report/row.ts';
import { findContainerPrograms } from './container-programs.ts';
import { openFilesLimit } from './open-files-limit.ts';
import { removeCgroups } from './reference-cgroups.ts';
import { timeFirstOutput } from './time-first-output.ts';

/** Folders that podman as root always creates, whatever its options. */
const CACHE = '/var/lib/containers/cache';

/**
 * `podman run --network none` of `echo` on an overlay of the base image. Each is killed at its first output, with all
 * its processes: if pid 1 does not reap orphans, podman waits 20 s for its monitor.
 */
export const podmanRun: Benchmark = async ({ name, runs, stack, installsReferences, resources }) => {
  const programs = await findContainerPrograms({
    names: ['podman', 'conmon', 'crun'],
    packages: ['podman', 'crun'],
    installs: installsReferences,
    resources,
  });
  if ('missing' in programs) return [toUnmeasuredRow({ name, unit: 'ms', reason: programs.missing })];
  const folder = mkdtempSync(join(tmpdir(), 'skerry-podman-'));
  const group = basename(folder);
  resources.defer(() => {
    rmSync(folder, { recursive: true, force: true });
    removeCgroups(group);
  });
  if (!existsSync(CACHE)) resources.defer(() => rmSync(CACHE, { recursive: true, force: true }));
  const env = { ...programs.env, CONTAINERS_CONF: writeSettings(folder, programs.env.PATH) };
  const files = openFilesLimit();
  const args = [
    ...['--root', join(folder, 'root'), '--runroot', join(folder, 'run'), '--tmpdir', join(folder, 'tmp')],
    ...['run', '--cgroup-parent', `/${group}`, '--network', 'none'],
    ...['--ulimit', `nofile=${files}:${files}`, '--ulimit', 'nproc=20000:20000'],
    ...['--rootfs', `${await stack.baseRootfs(resources)}:O`, 'echo', 'ready'],
  ];
  const samples: number[] = [];
  for (let run = -1; run < runs; run += 1) {
    // crun refuses a version 2 tree beside the others; the separate mount namespace hides it from podman,
    // and discards its files in /run.
    const hide =
      'mount -t tmpfs none /run; if mountpoint -q "$0"; then mount -t tmpfs none "$0"; fi; exec podman "$@"';
    const elapsedMs = await timeFirstOutput({
      file: 'unshare',
      args: [
        ...['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child', '--mount-proc'],
        ...['sh', '-c', hide, '/sys/fs/cgroup/unified', ...args],
      ],
      env,
      kills: true,
    });
    if (run >= 0) samples.push(elapsedMs);
  }
  return [toRow({ name, unit: 'ms', samples })];
};

/** No system settings, and no files left in its shared memory. */
function writeSettings(folder: string, path = process.env.PATH ?? ''): string {
  const monitors = path.split(':').map((each) => JSON.stringify(join(each, 'conmon')));
  const file = join(folder, 'containers.conf');
  mkdirSync(join(folder, 'root'));
  writeFileSync(
    file,
    `[engine]
conmon_path = [${monitors.join(', ')}]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
runtime = "crun"
`,
  );
  return file;
}
