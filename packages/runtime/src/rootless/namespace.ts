import { closeSync, constants, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { rootlessStateVariable } from '@skerry/contract/rootless-state-variable';
import { RuntimeError } from '../error.ts';
import { withFolderLock } from '../kernel/file-lock.ts';
import { identifyProcess, isAlive, readBootId } from '../kernel/process-identity.ts';
import { runCommand } from '../kernel/run-command.ts';
import { signalProcess } from '../kernel/signal-process.ts';
import { type Program, startProgram } from '../kernel/start-program.ts';
import { makeFifo } from '../kernel/syscalls.ts';
import { listSlots } from '../network/slots.ts';
import { delegateGroup, hasUserManager, joinDelegated, type LimitsRefusal } from './delegated-group.ts';
import { endOrphans } from './end-orphans.ts';
import { findIdRange, neededIds } from './id-ranges.ts';
import { readInotifyShare } from './inotify-share.ts';
import {
  holderLinePath,
  type RootlessRecord,
  readLastRootlessRecord,
  readRootlessRecord,
  toDelegated,
  writeRootlessRecord,
} from './record.ts';
import { startUplink } from './uplink.ts';

/*
 * The rootless namespace replaces the host where skerry is not root: one user, mount and network namespace, shared by
 * all servers of a user. In it id 0 is the user and 1 to 65,536 are the user's subordinate ids; sandboxes have only the
 * latter. An idle process holds it, as sandboxes outlive every process of skerry.
 */

/** The first id that belongs to sandboxes only: 0 is the user in a rootless namespace. */
export const rootlessBaseId = 1;

/**
 * Waits to be mapped, limits inotify instances, hides cgroups that crun would refuse, and stays. It ends with a launcher that dies
 * before that. The kernel counts the instances of all users of a sandbox for the owner of its namespace, and a limit of this namespace
 * is one for each owner. Only a program that begins after the mapping may write it.
 */
const holderScript = `echo made
read -r mapped || exit 1
sh -c 'echo "$0" > /proc/sys/user/max_inotify_instances' "$2" || exit 1
[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t tmpfs -o mode=755,size=64k none /sys/fs/cgroup || exit 1
exec 3>"$1" || exit 1
echo ready
exec sleep infinity </dev/null >/dev/null 2>&1`;

/**
 * Resolves with the user's rootless namespace, made when there is none, with its connection to the network. Programs
 * that this process starts may then put sandboxes into cgroups. With `startsNone`, for a process that only ends
 * sandboxes, both may be missing. Rejects with `unsupported` and the reason where this host does not allow a rootless
 * namespace; nothing of it is left then. Rejects with `unavailable` when sandboxes with limits run and the user's
 * service manager refuses this process; nothing changes then.
 */
export async function ensureRootlessNamespace(options: {
  stateDir: string;
  startsNone?: boolean;
}): Promise<RootlessRecord> {
  const { stateDir, startsNone = false } = options;
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  return withFolderLock(stateDir, async () => {
    try {
      if (startsNone)
        return readRootlessRecord(stateDir) ?? (await makeNamespace(stateDir, startsNoneRefusal));
      return await connect(stateDir, await enterGroup(stateDir, await openNamespace(stateDir)));
    } catch (error) {
      await endUnused(stateDir);
      throw error;
    }
  });
}

/** The service manager of the user may answer late, or never. */
const startsNoneRefusal: LimitsRefusal = {
  reason: 'the rootless namespace was made by a command that only ends sandboxes',
  mend: 'run "skerry up" again when no sandbox runs',
};

/** An unused rootless namespace without limits is replaced by one that may have them. */
async function openNamespace(stateDir: string): Promise<RootlessRecord> {
  const record = readRootlessRecord(stateDir);
  if (!record) return makeNamespace(stateDir);
  if (toDelegated(record) || !hasUserManager() || (await isUsed(stateDir, record))) return record;
  await endHolder(record);
  return makeNamespace(stateDir);
}

async function enterGroup(stateDir: string, record: RootlessRecord): Promise<RootlessRecord> {
  const group = toDelegated(record);
  const refusal = group && (await joinDelegated(group));
  if (!refusal) return record;
  if (await isUsed(stateDir, record))
    throw new RuntimeError(
      'unavailable',
      `sandboxes with limits run, and none can be started beside them: ${refusal.reason}; try again later`,
    );
  await endHolder(record);
  return makeNamespace(stateDir, refusal);
}

async function connect(stateDir: string, record: RootlessRecord): Promise<RootlessRecord> {
  if (record.uplink && isAlive(record.uplink)) return record;
  const uplink = await startUplink({ holderPid: record.holder.pid, linePath: holderLinePath(stateDir) });
  const connected: RootlessRecord = { ...record, uplink };
  await writeRootlessRecord(stateDir, connected);
  return connected;
}

async function makeNamespace(stateDir: string, refusal?: LimitsRefusal): Promise<RootlessRecord> {
  const last = readLastRootlessRecord(stateDir);
  if (last) await endOrphans({ ...last, stateDir });
  const ranges = await readIdRanges();
  const linePath = holderLinePath(stateDir);
  await rm(linePath, { force: true });
  makeFifo(linePath);
  const line = openSync(linePath, constants.O_RDONLY | constants.O_NONBLOCK);
  let program: Program | undefined;
  try {
    program = startHolder(linePath);
    const says = toSteps(program);
    await says('made');
    const holder = identifyProcess(program.pid);
    if (!holder) throw new RuntimeError('unsupported', 'the holder of the namespaces ended at once');
    await mapIds(holder.pid, ranges);
    const userNamespace = statSync(`/proc/${holder.pid}/ns/user`).ino;
    const record: RootlessRecord = { version: 1, bootId: readBootId(), holder, userNamespace };
    await writeRootlessRecord(stateDir, record);
    program.pipes[0]?.end('\n');
    await says('ready');
    const limits = refusal ?? (await delegateGroup({ holderPid: holder.pid }));
    await writeRootlessRecord(stateDir, { ...record, limits });
    return { ...record, limits };
  } catch (error) {
    program?.kill();
    throw error;
  } finally {
    closeSync(line);
    for (const pipe of program?.pipes ?? []) pipe?.destroy();
    program?.unref();
  }
}

function startHolder(linePath: string): Program {
  try {
    return startProgram({
      file: 'unshare',
      args: [
        ...['--user', '--mount', '--net', '--propagation', 'slave'],
        ...['sh', '-c', holderScript, 'sh', linePath, String(readInotifyShare())],
      ],
      stdio: ['input', 'output', 'output'],
      ownSession: true,
    });
  } catch (error) {
    throw new RuntimeError('unsupported', 'unshare could not be started', { cause: error });
  }
}

/** Resolves when the holder prints the word; rejects with its error output instead. */
function toSteps({ pipes }: Program): (word: string) => Promise<void> {
  const [stdin, stdout, stderr] = pipes as [Socket, Socket, Socket];
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  const complaint = text(stderr).catch(() => '');
  stdin.on('error', () => undefined);
  return async (word) => {
    const { value } = await lines.next();
    if (value === word) return;
    throw new RuntimeError('unsupported', `namespaces were refused: ${(await complaint).trim()}`);
  };
}

async function readIdRanges(): Promise<{ firstUid: number; firstGid: number }> {
  const { username: name, uid } = userInfo();
  const [firstUid, firstGid] = await Promise.all(
    ['/etc/subuid', '/etc/subgid'].map(async (path) =>
      findIdRange(await readFile(path, 'utf8').catch(() => ''), { name, uid }),
    ),
  );
  if (firstUid === undefined || firstGid === undefined) {
    throw new RuntimeError(
      'unsupported',
      `/etc/subuid and /etc/subgid assign ${name} no range of ${neededIds} ids`,
    );
  }
  return { firstUid, firstGid };
}

/** Maps the ids by the setuid programs of the host, which check that they are the user's. */
async function mapIds(pid: number, range: { firstUid: number; firstGid: number }): Promise<void> {
  const { uid, gid } = userInfo();
  const toArgs = (own: number, first: number): string[] =>
    [pid, 0, own, 1, rootlessBaseId, first, neededIds].map((number) => String(number));
  await runCommand({ file: 'newuidmap', args: toArgs(uid, range.firstUid) });
  await runCommand({ file: 'newgidmap', args: toArgs(gid, range.firstGid) });
}

const END_MS = 5_000;

/**
 * Ends the rootless namespace with its connection to the network, when no sandbox of the user has a slot in it and no
 * other process of the user's servers is in it. May be called from inside. Idempotent.
 */
export async function endRootlessNamespace({ stateDir }: { stateDir: string }): Promise<void> {
  await withFolderLock(stateDir, () => endUnused(stateDir));
}

async function endUnused(stateDir: string): Promise<void> {
  const record = readRootlessRecord(stateDir);
  if (await isUsed(stateDir, record)) return;
  if (record) await endHolder(record);
  // Remove the records of the network, too: it ended with the namespace.
  await rm(stateDir, { recursive: true, force: true });
}

/** Slots of a rootless namespace that ended with its host are released when their sandboxes are taken down. */
async function isUsed(stateDir: string, record: RootlessRecord | undefined): Promise<boolean> {
  if ((await listSlots({ stateDir })).length > 0) return true;
  return record !== undefined && hasOthers(record);
}

async function endHolder({ holder, uplink }: RootlessRecord): Promise<void> {
  if (isAlive(holder)) signalProcess(holder.pid, 'SIGKILL');
  const deadline = Date.now() + END_MS;
  const isThere = (): boolean => isAlive(holder) || (uplink !== undefined && isAlive(uplink));
  while (isThere() && Date.now() < deadline) await sleep(5);
}

/** Whether another server works in the rootless namespace. Its child processes do not count. */
function hasOthers({ userNamespace: own }: RootlessRecord): boolean {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .some((pid) => pid !== process.pid && toUserNamespace(pid) === own && worksHere(pid));
}

function worksHere(pid: number): boolean {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return variables.some((variable) => variable.startsWith(`${rootlessStateVariable}=`));
  } catch {
    return false; // The process has ended.
  }
}

/** Undefined for a process that has ended, or belongs to another user. */
function toUserNamespace(pid: number): number | undefined {
  try {
    return statSync(`/proc/${pid}/ns/user`).ino;
  } catch {
    return undefined; // See above.
  }
}

/**
 * The command that runs `argv` in the rootless namespace, in the folder `cwd`, as its root. The network stays the
 * host's unless `network` is set.
 */
export function toEnterCommand(
  { holder }: RootlessRecord,
  { argv, cwd, network = false }: { argv: readonly string[]; cwd: string; network?: boolean },
): string[] {
  const namespaces = ['--user', '--mount', ...(network ? ['--net'] : [])];
  return ['nsenter', '--target', String(holder.pid), ...namespaces, 'env', `--chdir=${cwd}`, ...argv];
}
