import { closeSync } from 'node:fs';
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { toBaseUid } from '../../../network/slots.ts';
import { ObstacleError } from '../../../obstacle.ts';
import { maskedPaths } from '../container/bundle.ts';
import { createLivenessPipe } from '../container/liveness-pipe.ts';
import { readPid } from '../container/read-pid.ts';
import { type SandboxFolder, toSandboxFolder } from '../folder.ts';
import type { OciHost } from '../host.ts';
import { openedLevel } from '../opened-levels.ts';
import type { SandboxRecord } from '../record.ts';
import { toStepError } from '../step-error.ts';
import type { Checkpoint } from './checkpoint.ts';
import { type Criu, CriuRefusedError } from './criu.ts';
import { endDump } from './end-dump.ts';
import { findObstacle } from './obstacles/find-obstacle.ts';
import { requireProgramFiles } from './obstacles/require-program-files.ts';
import { requireUntraced } from './obstacles/require-untraced.ts';
import { createSandboxRoot } from './processes/sandbox-root.ts';
import { writeThreadSettings } from './processes/thread-settings.ts';
import { readySockets } from './sockets/ready-sockets.ts';

/**
 * Dumps the processes of a frozen sandbox, whose packets are stopped, to `imagesDir`, not yet to the medium. They stay
 * frozen, and also stopped unless they continue after `whileHeld`; `endRepair` must follow then. Keeps nothing when it
 * rejects; the processes may then be frozen, stopped, both or neither (see `Criu`).
 */
export const dumpMemory = async (
  { host, criu }: { host: OciHost; criu: Criu },
  record: SandboxRecord,
  { imagesDir, whileHeld }: { imagesDir: string; whileHeld?: () => Promise<void> },
): Promise<Checkpoint> => {
  const folder = toSandboxFolder(host.dataDir, record.spec.id);
  await rm(imagesDir, { recursive: true, force: true });
  await mkdir(imagesDir, { mode: 0o700 });
  const cgroup = host.cgroup(record.spec.id);
  const pids = await cgroup.members();
  const { runtime, readClass } = openedLevel(host, record);
  const hostClass = readClass();
  try {
    requireProgramFiles(pids);
    await requireUntraced(pids);
    await readySockets(pids, folder);
    const pid = readPid(folder);
    const livenessPipeId = await readLivenessPipeId(folder, pid);
    const hasBootId = runtime.mountsBelowProc;
    const { line, writeFd } = createLivenessPipe(folder.dumpPipe);
    // Loaded when it is first needed, while CRIU writes: a helper that makes sandboxes and pauses none starts without
    // protobuf.
    const mending = Promise.all([import('./images/mend-images.ts'), import('./images/verify-paths.ts')]);
    // Awaited below; this marks the rejection as handled.
    mending.catch(() => undefined);
    try {
      await renameSockets(folder, { from: '', to: '.new' });
      await criu.dump({
        pid,
        imagesDir,
        baseId: toBaseUid(record.slot),
        livenessPipeId,
        memoryBytes: record.spec.limits.memoryBytes,
        hasBootId,
        maskedFolders: await readMaskedFolders(pid),
        cgroup,
        lineFd: writeFd,
        whileHeld,
      });
    } finally {
      closeSync(writeFd);
      line.close();
      // A process that it has started outlives it when it is killed.
      await endDump(folder.dumpPipe, { deadlineMs: LEFTOVER_DEADLINE_MS });
      await renameSockets(folder, { from: '.new', to: '' });
    }
    const bootId = hasBootId ? await readFile(folder.bootId, 'utf8') : undefined;
    const [{ mendImages }, { verifyPaths }] = await mending;
    const held = { pids: await cgroup.members(), root: createSandboxRoot(pid) };
    const { needsNetwork, ...paths } = await mendImages(imagesDir, held);
    await verifyPaths(paths, held);
    await writeThreadSettings(imagesDir, { first: pid, pids: held.pids });
    const hostBootId = await readHostBootId();
    const madeOn = await hostClass;
    return {
      livenessPipeId,
      needsNetwork,
      hostBootId,
      ...(madeOn && { madeOn }),
      ...(bootId !== undefined && { bootId }),
    };
  } catch (error) {
    const failure = await toStepError(error, {
      step: `writing the memory of sandbox ${record.spec.id}`,
      dataDir: host.dataDir,
    });
    await rm(imagesDir, { recursive: true, force: true });
    // A failure to determine the obstacle leaves that of CRIU as it is.
    const found = failure.code === 'internal' ? await findObstacle(pids).catch(() => undefined) : undefined;
    const obstacle =
      found ?? (failure instanceof CriuRefusedError ? { kind: 'unknown' as const } : undefined);
    throw obstacle === undefined ? failure : new ObstacleError(obstacle, { cause: error });
  } finally {
    await rm(folder.dumpPipe, { force: true });
  }
};

/** Processes of a program that has ended regularly. */
const LEFTOVER_DEADLINE_MS = 100;

/** The agent's sockets, in the order in which they may appear. */
const socketNames = ['http.sock', 'control.sock'];

/**
 * A socket is dumped with the name to which it was bound, and restored with that: the agent binds to another name than
 * the one to which it renames the socket. Does nothing about a socket that has the other name already, or that root
 * inside has removed.
 */
export const renameSockets = async (
  { guest }: SandboxFolder,
  { from, to }: { from: string; to: string },
): Promise<void> => {
  for (const name of socketNames) {
    await rename(`${guest}/${name}${from}`, `${guest}/${name}${to}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }
};

/** The processes bind theirs anew; their other files in the folder stay. */
export const removeSockets = async ({ guest }: SandboxFolder): Promise<void> => {
  const names = socketNames.flatMap((name) => [name, `${name}.new`]);
  await Promise.all(names.map((name) => rm(`${guest}/${name}`, { recursive: true, force: true })));
};

/** Masked files are bind mounts of the null device. */
const readMaskedFolders = async (pid: number): Promise<string[]> =>
  (await readFile(`/proc/${pid}/mountinfo`, 'utf8'))
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, , , root, target]) => maskedPaths.includes(target ?? '') && root !== '/null')
    .map(([, , , , target]) => target ?? '');

export const readHostBootId = async (): Promise<string> =>
  (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();

/** The name that CRIU gives a file outside the mounts of a process: the mount and the inode, in hex. */
const readLivenessPipeId = async ({ livenessPipe }: SandboxFolder, pid: number): Promise<string> => {
  const info = await readFile(`/proc/${pid}/fdinfo/3`, 'utf8');
  const mountId = Number(/^mnt_id:\s+(\d+)$/m.exec(info)?.[1]);
  return `file[${mountId.toString(16)}:${(await stat(livenessPipe)).ino.toString(16)}]`;
};
