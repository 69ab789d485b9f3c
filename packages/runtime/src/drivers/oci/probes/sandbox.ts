import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { prepareAgentFolder } from '../../../agent-folder/agent-folder.ts';
import { findProgram } from '../../../kernel/find-program.ts';
import { runCommand } from '../../../kernel/run-command.ts';
import { CLOSED_NETWORK } from '../../../network/policy.ts';
import { aptInstall, type ProbeResult, probe } from '../../../probe.ts';
import type { OciRuntime, OciRuntimeName } from '../container/oci-runtime.ts';
import { prepareRunsc } from '../gvisor/prepare-runsc.ts';
import { readHost } from '../host.ts';
import { levels } from '../levels.ts';
import { createOci } from '../oci.ts';
import { openedLevel } from '../opened-levels.ts';
import type { ProbedRootless } from './probed-rootless.ts';

/**
 * Takes the place of the agent: sends its process status to each client, and closes and opens its socket at the signals
 * at which the agent does.
 */
const probeAgent = `const { readFileSync, renameSync, rmSync } = require('node:fs');
const { createServer } = require('node:net');
const path = process.env.ENVD_SOCKET_DIR + '/control.sock';
const answer = (socket) => socket.on('error', () => {}).resume().end(readFileSync('/proc/self/status'));
const server = createServer(answer);
const open = () => server.listen(path + '.new', () => renameSync(path + '.new', path));
process.on('SIGUSR2', () => { server.close(); rmSync(path); });
process.on('SIGCONT', () => { if (!server.listening) open(); });
setInterval(() => {}, 2 ** 30);
open();
`;

const limits = { cpuCount: 0.5, memoryBytes: 128 * 2 ** 20, diskBytes: 32 * 2 ** 20, processCount: 50 };

/** Makes the agent that `probeRuntime` starts, below `dir`; resolves with its folder. */
export async function prepareProbeAgent(dir: string): Promise<string> {
  const bundleDir = join(dir, 'bundle');
  await mkdir(bundleDir);
  await writeFile(join(bundleDir, 'main.js'), probeAgent);
  return prepareAgentFolder({ targetDir: join(dir, 'agent'), nodePath: process.execPath, bundleDir });
}

interface ProbeFolders {
  dir: string;
  agentDir: string;
  rootless?: ProbedRootless;
}

/** Starts a sandbox with the given OCI runtime, on the host's kernel. */
export const probeRuntime = (
  options: ProbeFolders & { name: OciRuntimeName; needed: boolean },
): Promise<ProbeResult> => {
  const { name, needed, rootless } = options;
  const mend = rootless ? aptInstall(name) : toRuntimeMend(name);
  return probe({ name, needed, mend }, () =>
    trySandbox({ ...options, file: name, driver: { ociRuntime: name } }),
  );
};

/** Installing a program again does not help where it is installed and fails: then the other one may start sandboxes. */
function toRuntimeMend(name: OciRuntimeName): string {
  if (findProgram(name) === undefined) return aptInstall(name);
  const other = name === 'crun' ? 'runc' : 'crun';
  return findProgram(other) === undefined ? aptInstall(other) : `see ${other}: one of the two is enough`;
}

/** Starts a sandbox at level `gvisor`. */
export const probeGvisor = (
  options: ProbeFolders & {
    runscPath: string | undefined;
    programsDir: string | undefined;
    signal: AbortSignal | undefined;
  },
): Promise<ProbeResult> =>
  probe({ name: 'gvisor', needed: false, mend: 'let apt-get reach http://deb.debian.org' }, async () => {
    const runscPath =
      options.runscPath ??
      (await prepareRunsc({ targetDir: options.programsDir ?? options.dir, signal: options.signal }));
    return trySandbox({ ...options, name: 'gvisor', file: runscPath, driver: { runscPath } });
  });

type Driver = { ociRuntime: OciRuntimeName } | { runscPath: string };

/** Starts a real sandbox, asks it how it is confined, checks its limits in the host's cgroups, and removes it. */
const trySandbox = async (
  options: ProbeFolders & { name: string; file: string; driver: Driver },
): Promise<string> => {
  const { name, file, driver, dir, agentDir, rootless } = options;
  const [version = ''] = (await runCommand({ file, args: ['--version'] })).split('\n');
  const [dataDir, rootfs] = [join(dir, `data-${name}`), join(dir, `rootfs-${name}`)];
  await mkdir(join(dataDir, 'run'), { recursive: true, mode: 0o700 });
  await mkdir(rootfs);
  const runtime = createOci({ dataDir, agentDir, ...driver, ...rootless });
  const id = `probe${process.pid}`;
  try {
    const start = performance.now();
    const instance = await runtime.create({
      id,
      rootfs,
      hostname: 'probe',
      limits,
      network: CLOSED_NETWORK,
    });
    const tookMs = Math.round(performance.now() - start);
    try {
      checkConfined(await text(await instance.control()));
      const started = `${version} starts a sandbox in ${tookMs} ms`;
      if (rootless && rootless.rootless.cgroupFolder === undefined) return started;
      return `${started}, limits hold by ${await checkLimits({ dataDir, driver, rootless, id })}`;
    } finally {
      await instance.stop();
    }
  } finally {
    await runtime.close();
  }
};

/** linux/capability.h: as powerful as root. */
const CAP_SYS_ADMIN = 21n;

function checkConfined(status: string): void {
  if (!/^Seccomp:\s+2$/m.test(status)) throw new Error('the sandbox runs without its seccomp filter');
  const held = BigInt(`0x${/^CapBnd:\s+(\w+)$/m.exec(status)?.[1] ?? 'ffffffff'}`);
  if (((held >> CAP_SYS_ADMIN) & 1n) === 1n) throw new Error('root of the sandbox could get CAP_SYS_ADMIN');
}

/** The files of the limits: path below the cgroup's folder, by version of the host's cgroups → expected content. */
const toLimitFiles = ({ toProcessLimit }: OciRuntime) =>
  ({
    1: [
      ['memory', 'memory.limit_in_bytes', `${limits.memoryBytes}`],
      ['pids', 'pids.max', `${toProcessLimit(limits.processCount)}`],
      ['cpu', 'cpu.cfs_quota_us', '50000'],
    ],
    2: [
      ['', 'memory.max', `${limits.memoryBytes}`],
      ['', 'pids.max', `${toProcessLimit(limits.processCount)}`],
      ['', 'cpu.max', '50000 100000'],
    ],
  }) as const;

async function checkLimits(options: {
  dataDir: string;
  driver: Driver;
  rootless: ProbedRootless | undefined;
  id: string;
}): Promise<string> {
  const host = readHost({ dataDir: options.dataDir, ...options.driver, ...options.rootless });
  const { runtime } = openedLevel(host, levels[host.defaultLevel].recorded);
  const { version, trees } = host.cgroups;
  const root = version === 2 ? (trees[0] ?? '') : '/sys/fs/cgroup';
  for (const [controller, file, expected] of toLimitFiles(runtime)[version]) {
    if (file === 'cpu.max' && !host.limits.cpu) continue;
    const path = join(root, controller, host.cgroup(options.id).path, file);
    const actual = (await readFile(path, 'utf8')).trim();
    if (actual !== expected) throw new Error(`${file} is ${actual} instead of ${expected}`);
  }
  return `cgroups version ${version}`;
}
