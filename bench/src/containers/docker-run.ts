import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Benchmark } from '../harness/benchmark.ts';
import { toRow, toUnmeasuredRow } from '../report/row.ts';
import { findContainerPrograms } from './container-programs.ts';
import { openFilesLimit } from './open-files-limit.ts';
import { removeCgroups } from './reference-cgroups.ts';
import { timeFirstOutput } from './time-first-output.ts';

const START_DEADLINE_MS = 30_000;

/**
 * `docker run --network none` of `echo` on the base image, by a separate daemon that does not change the host's network
 * and keeps all files in a temporary folder.
 */
export const dockerRun: Benchmark = async ({ name, runs, stack, installsReferences, resources }) => {
  const programs = await findContainerPrograms({
    names: ['docker', 'dockerd'],
    packages: ['docker.io'],
    installs: installsReferences,
    resources,
  });
  if ('missing' in programs) return [toUnmeasuredRow({ name, unit: 'ms', reason: programs.missing })];
  const env = { ...process.env, ...programs.env };
  const socket = await startDaemon(env, resources).catch((error: Error) => error);
  if (socket instanceof Error)
    return [toUnmeasuredRow({ name, unit: 'ms', reason: `dockerd does not run here: ${socket.message}` })];
  const docker = ['--host', `unix://${socket}`];
  const load = `tar -C "$0" -c . | docker ${docker.join(' ')} import - skerry-bench`;
  await promisify(execFile)('sh', ['-c', load, await stack.baseRootfs(resources)], { env });
  const samples: number[] = [];
  for (let run = -1; run < runs; run += 1) {
    const args = [...docker, 'run', '--rm', '--network', 'none', 'skerry-bench', 'echo', 'ready'];
    const elapsedMs = await timeFirstOutput({ file: 'docker', args, env: programs.env });
    if (run >= 0) samples.push(elapsedMs);
  }
  return [toRow({ name, unit: 'ms', samples })];
};

/** Resolves with its socket when it answers; rejects with the end of its output. */
async function startDaemon(env: NodeJS.ProcessEnv, resources: AsyncDisposableStack): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-docker-'));
  const group = basename(folder);
  resources.defer(() => {
    rmSync(folder, { recursive: true, force: true });
    removeCgroups(group);
  });
  const socket = join(folder, 'docker.sock');
  const files = openFilesLimit();
  const args = [
    ...[
      '--data-root',
      join(folder, 'data'),
      '--exec-root',
      join(folder, 'exec'),
      '--pidfile',
      join(folder, 'pid'),
    ],
    ...[
      '--host',
      `unix://${socket}`,
      '--cgroup-parent',
      `/${group}`,
      '--exec-opt',
      'native.cgroupdriver=cgroupfs',
    ],
    ...['--bridge=none', '--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false'],
    ...['--default-ulimit', `nofile=${files}:${files}`],
  ];
  // In its own mount namespace, so that no mount remains, nor files that it always creates in /run.
  const cover = 'mount -t tmpfs none /run && exec dockerd "$@"';
  const daemon = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', cover, 'sh', ...args], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
  });
  let words = '';
  daemon.stderr.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-500);
  });
  resources.defer(() => end(daemon));
  const deadline = Date.now() + START_DEADLINE_MS;
  while (!(await answers(socket))) {
    if (daemon.exitCode !== null || Date.now() > deadline) throw new Error(words.trim().split('\n').at(-1));
    await delay(50);
  }
  return socket;
}

const answers = async (path: string): Promise<boolean> => {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false; // Not yet.
  } finally {
    socket.destroy();
  }
};

async function end(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null) return;
  const exited = once(daemon, 'exit');
  daemon.kill('SIGTERM');
  await exited;
}
