import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../error.ts';
import { withHostLock } from '../kernel/host-lock.ts';
import { identifyProcess, isAlive } from '../kernel/process-identity.ts';
import { runCommand, systemPath } from '../kernel/run-command.ts';
import { signalProcess } from '../kernel/signal-process.ts';
import { makeFifo } from '../kernel/syscalls.ts';
import { listSlots } from '../network/slots.ts';
import { delegateGroup, hasUserManager, joinDelegated, type LimitsRefusal } from './delegated-group.ts';
import { endOrphans } from './end-orphans.ts';
import {
  type GroundRecord,
  holderLinePath,
  readBootId,
  readGround,
  readLastGround,
  toDelegated,
  writeGround,
} from './ground-record.ts';
import { groundVariable } from './ground-variable.ts';
import { findIdRange, neededIds } from './id-ranges.ts';
import { startUplink } from './uplink.ts';

/*
 * The ground is what stands for the host where skerry is not root: one user, mount and network namespace, shared by all
 * servers of a user. In it id 0 is the user himself and 1 to 65,536 are his subordinate ids; sandboxes have only the
 * latter. A process that does nothing holds it, as sandboxes outlive every process of skerry.
 */

/** In a ground 0 is the user himself; the ids from here on are nobody's but his sandboxes'. */
export const groundBaseId = 1;

/** Waits to be mapped, hides cgroups that crun would refuse, and stays. A launcher that dies first takes it along. */
const holderScript = `echo made
read -r mapped || exit 1
[ -e /sys/fs/cgroup/cgroup.controllers ] || mount -t tmpfs -o mode=755,size=64k none /sys/fs/cgroup || exit 1
exec 3>"$1" || exit 1
echo ready
exec sleep infinity </dev/null >/dev/null 2>&1`;

/**
 * Resolves with the user's ground, made when there is none, with its way to the network. Programs that this process starts may then
 * put sandboxes into cgroups. With `startsNone`, for a process that only ends sandboxes, there may be neither. Rejects with
 * `unsupported` and the reason where this host does not allow a ground; nothing of it is left then. Rejects with `unavailable` when
 * sandboxes with limits run and the user's service manager does not take this process in; all goes on as it was then.
 */
export async function ensureGround(options: {
  stateDir: string;
  startsNone?: boolean;
}): Promise<GroundRecord> {
  const { stateDir, startsNone = false } = options;
  await mkdir(stateDir, { recursive: true, mode: 0o700 });
  return withHostLock(stateDir, async () => {
    try {
      if (startsNone) return readGround(stateDir) ?? (await makeGround(stateDir, startsNoneRefusal));
      return await connect(stateDir, await enterGroup(stateDir, await openGround(stateDir)));
    } catch (error) {
      await endUnused(stateDir);
      throw error;
    }
  });
}

/** The service manager of the user may take its time to answer, or never do so. */
const startsNoneRefusal: LimitsRefusal = {
  reason: 'the ground was made by a command that only ends sandboxes',
  mend: 'run "skerry up" again when no sandbox runs',
};

/** An unused ground without limits makes way for one that may have them. */
async function openGround(stateDir: string): Promise<GroundRecord> {
  const ground = readGround(stateDir);
  if (!ground) return makeGround(stateDir);
  if (toDelegated(ground) || !hasUserManager() || (await isUsed(stateDir, ground))) return ground;
  await endHolder(ground);
  return makeGround(stateDir);
}

async function enterGroup(stateDir: string, ground: GroundRecord): Promise<GroundRecord> {
  const group = toDelegated(ground);
  const refusal = group && (await joinDelegated(group));
  if (!refusal) return ground;
  if (await isUsed(stateDir, ground))
    throw new RuntimeError(
      'unavailable',
      `sandboxes with limits run, and none can be started beside them: ${refusal.reason}; try again later`,
    );
  await endHolder(ground);
  return makeGround(stateDir, refusal);
}

async function connect(stateDir: string, ground: GroundRecord): Promise<GroundRecord> {
  if (ground.uplink && isAlive(ground.uplink)) return ground;
  const uplink = await startUplink({ holderPid: ground.holder.pid, linePath: holderLinePath(stateDir) });
  const connected: GroundRecord = { ...ground, uplink };
  await writeGround(stateDir, connected);
  return connected;
}

async function makeGround(stateDir: string, refusal?: LimitsRefusal): Promise<GroundRecord> {
  const last = readLastGround(stateDir);
  if (last) await endOrphans(last);
  const ranges = await readIdRanges();
  const linePath = holderLinePath(stateDir);
  await rm(linePath, { force: true });
  makeFifo(linePath);
  const line = openSync(linePath, constants.O_RDONLY | constants.O_NONBLOCK);
  const child = spawn(
    'unshare',
    [
      ...['--user', '--mount', '--net', '--propagation', 'slave'],
      ...['sh', '-c', holderScript, 'sh', linePath],
    ],
    { stdio: ['pipe', 'pipe', 'pipe'], env: { PATH: systemPath }, cwd: '/', detached: true },
  );
  try {
    const says = toSteps(child);
    await says('made');
    const holder = identifyProcess(child.pid as number);
    if (!holder) throw new RuntimeError('unsupported', 'the holder of the namespaces ended at once');
    await mapIds(holder.pid, ranges);
    const userNamespace = statSync(`/proc/${holder.pid}/ns/user`).ino;
    const record: GroundRecord = { version: 1, bootId: readBootId(), holder, userNamespace };
    await writeGround(stateDir, record);
    child.stdin?.end('\n');
    await says('ready');
    const limits = refusal ?? (await delegateGroup({ holderPid: holder.pid }));
    await writeGround(stateDir, { ...record, limits });
    return { ...record, limits };
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  } finally {
    closeSync(line);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
    child.unref();
  }
}

/** Resolves when the holder says the word; rejects with what it says instead. */
function toSteps(child: ChildProcess): (word: string) => Promise<void> {
  const lines = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> })[
    Symbol.asyncIterator
  ]();
  const complaint = child.stderr ? text(child.stderr).catch(() => '') : Promise.resolve('');
  child.stdin?.on('error', () => undefined);
  const missing = once(child, 'error').then(([error]): never => {
    throw new RuntimeError('unsupported', 'unshare could not be started', { cause: error });
  });
  // Told to whoever waits for a word.
  missing.catch(() => undefined);
  return async (word) => {
    const { value } = await Promise.race([lines.next(), missing]);
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
      `/etc/subuid and /etc/subgid give ${name} no range of ${neededIds} ids`,
    );
  }
  return { firstUid, firstGid };
}

/** By the setuid programs of the host, which check that the ids are the user's. */
async function mapIds(pid: number, range: { firstUid: number; firstGid: number }): Promise<void> {
  const { uid, gid } = userInfo();
  const toArgs = (own: number, first: number): string[] =>
    [pid, 0, own, 1, groundBaseId, first, neededIds].map((number) => String(number));
  await runCommand({ file: 'newuidmap', args: toArgs(uid, range.firstUid) });
  await runCommand({ file: 'newgidmap', args: toArgs(gid, range.firstGid) });
}

const END_MS = 5_000;

/**
 * Ends the ground with its way to the network, when no sandbox of the user has a place in it and no other process of his
 * servers is in it. May be called from inside. Idempotent.
 */
export async function endGround({ stateDir }: { stateDir: string }): Promise<void> {
  await withHostLock(stateDir, () => endUnused(stateDir));
}

async function endUnused(stateDir: string): Promise<void> {
  const ground = readGround(stateDir);
  if (await isUsed(stateDir, ground)) return;
  if (ground) await endHolder(ground);
  // With what was noted of the network that ended with it.
  await rm(stateDir, { recursive: true, force: true });
}

/** Slots of a ground that ended with its host are freed by taking down the sandboxes that have them. */
async function isUsed(stateDir: string, ground: GroundRecord | undefined): Promise<boolean> {
  if ((await listSlots({ stateDir })).length > 0) return true;
  return ground !== undefined && hasOthers(ground);
}

async function endHolder({ holder, uplink }: GroundRecord): Promise<void> {
  if (isAlive(holder)) signalProcess(holder.pid, 'SIGKILL');
  const deadline = Date.now() + END_MS;
  const isThere = (): boolean => isAlive(holder) || (uplink !== undefined && isAlive(uplink));
  while (isThere() && Date.now() < deadline) await sleep(5);
}

/** Whether somebody else works in the ground. What he has started, and not ended yet, does not count. */
function hasOthers({ userNamespace: own }: GroundRecord): boolean {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .some((pid) => pid !== process.pid && toUserNamespace(pid) === own && worksHere(pid));
}

function worksHere(pid: number): boolean {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    return variables.some((variable) => variable.startsWith(`${groundVariable}=`));
  } catch {
    return false; // It is gone.
  }
}

/** Undefined for a process that is gone, or none of the user's. */
function toUserNamespace(pid: number): number | undefined {
  try {
    return statSync(`/proc/${pid}/ns/user`).ino;
  } catch {
    return undefined; // See above.
  }
}

/**
 * The command that runs `argv` in the ground, in the folder `cwd`, as its root. The network stays the host's unless
 * `network` is set.
 */
export function toEnterCommand(
  { holder }: GroundRecord,
  { argv, cwd, network = false }: { argv: readonly string[]; cwd: string; network?: boolean },
): string[] {
  const namespaces = ['--user', '--mount', ...(network ? ['--net'] : [])];
  return ['nsenter', '--target', String(holder.pid), ...namespaces, 'env', `--chdir=${cwd}`, ...argv];
}
