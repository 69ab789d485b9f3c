import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const baselinePath = '/var/lib/lab-traces.json';

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process or device has just gone.
  }
};

const tool = (file: string, ...args: string[]): string => {
  try {
    return execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return ''; // The command has nothing to list.
  }
};

/** Sessions, services that were started for one command, and users' managers come and go by themselves. */
const passing =
  /\/(user\.slice|run-[^/]+\.service|.*\.scope|systemd-[^/]+\.service|user-runtime-dir@[^/]+|[^/]+\.(mount|device|socket|timer|slice)$)/;

function listCgroups(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() && !passing.test(path) ? [path, ...listCgroups(path)] : [];
  });
}

const programs =
  /(^|\/)(skerry|crun|runc|runsc|criu|tini(-static)?|slirp4netns|fuse-overlayfs)( |$)|helper\.js|\.envd|runsc-/;

function listProcesses(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim())
    .filter((line) => programs.test(line) && !line.includes('/opt/skerry/guest/'))
    .map((line) => `process ${line}`);
}

/** Everything on this guest that skerry, or the kernel for it, may have made. Two equal entries are not distinguished. */
function findTraces(): string[] {
  const mounts = read('/proc/self/mountinfo')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point !== '' && !/^\/(proc|sys|dev|run\/(user|credentials|lock))\b/.test(point));
  const loops = readdirSync('/sys/block')
    .map((name) => read(`/sys/block/${name}/loop/backing_file`).trim())
    .filter((file) => file !== '');
  const links = readdirSync('/sys/class/net');
  const namespaces = existsSync('/run/netns') ? readdirSync('/run/netns') : [];
  const tables = tool('nft', 'list', 'tables')
    .split('\n')
    .filter((line) => line !== '');
  return [
    ...mounts.map((point) => `mount ${point}`),
    ...loops.map((file) => `loop device of ${file}`),
    ...links.map((name) => `link ${name}`),
    ...namespaces.map((name) => `network namespace ${name}`),
    ...tables,
    ...listCgroups('/sys/fs/cgroup').map((path) => `cgroup ${path}`),
    ...listProcesses(),
  ];
}

/** Notes what there is before skerry was ever started. */
export function noteBaseline(): void {
  writeFileSync(baselinePath, JSON.stringify(findTraces()));
}

/** What there is beside the baseline. */
function findNew(): string[] {
  const baseline = new Set(JSON.parse(readFileSync(baselinePath, 'utf8')) as string[]);
  return findTraces().filter((trace) => !baseline.has(trace));
}

/** What is left when neither server nor sandbox is. */
export const findAllLeftovers = findNew;

/** What sandboxes leave; a server may run. */
export const findLeftovers = (): string[] =>
  findNew().filter((trace) => /^(mount|loop device|link|network namespace) /.test(trace));
