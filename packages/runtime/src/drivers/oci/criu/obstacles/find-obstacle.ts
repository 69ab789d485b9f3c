import { constants, readFileSync, readlinkSync, type Stats, statfsSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { readIfPresent } from '../../../../kernel/read-if-present.ts';
import { O_PATH } from '../../../../kernel/syscalls.ts';
import type { Obstacle, ObstacleKind } from '../../../../obstacle.ts';
import { MAX_DESCRIPTORS } from '../descriptors/list-descriptors.ts';
import { type HeldFile, listHeldFiles } from '../processes/held-files.ts';
import { observeProcess } from '../processes/observe-process.ts';
import { createSandboxRoot } from '../processes/sandbox-root.ts';
import { type SandboxSocket, type SocketOption, visitFrozenSockets } from '../sockets/sandbox-sockets.ts';

/**
 * Finds out why CRIU could not dump frozen processes, where the cause is something that they hold: call it when CRIU
 * has failed and ended. Resolves with undefined for other causes, also unknown ones.
 */
export const findObstacle = async (pids: readonly number[]): Promise<Obstacle | undefined> =>
  (await findFile(pids)) ?? (await findSocket(pids));

const findFile = async (pids: readonly number[]): Promise<Obstacle | undefined> => {
  const yielder = createYielder();
  let looks = 0;
  for (const file of listHeldFiles(pids)) {
    const kind = readIfPresent(() => toObstacle(file));
    if (kind !== undefined) return { kind, process: observeProcess(file.pid) };
    looks += 1;
    if (looks > MAX_LOOKS) return undefined;
    await yielder();
  }
  return undefined;
};

/** Code inside may have mapped a thousand times as much. */
const MAX_LOOKS = 2 * MAX_DESCRIPTORS;

const toObstacle = (held: HeldFile): ObstacleKind | undefined => {
  const { path, info } = held;
  const file = statSync(path);
  const shown = readShown(path);
  if (shown === undefined) return 'long_path';
  const deleted = file.nlink > 0 && shown.endsWith(DELETED) ? toDeleted(held, { file, shown }) : undefined;
  if (deleted !== undefined) return deleted;
  const flags = (file.isSocket() || file.isFIFO()) && info !== undefined ? readFlags(info) : 0;
  if (flags & O_PATH) return 'path_only';
  if (file.isFIFO() && flags & constants.O_DIRECT) return 'packet_pipe';
  if (info !== undefined && watchesKernel(held, info)) return 'kernel_watch';
  return unkept.get(statfsSync(path).type);
};

/** Returns the name of the file as in proc_pid_fd(5); undefined when that is longer than the kernel can show. */
const readShown = (path: string): string | undefined => {
  try {
    return readlinkSync(path, 'latin1');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENAMETOOLONG') return undefined;
    throw error;
  }
};

const DELETED = ' (deleted)';

/** The obstacle of a file with links that has lost the name under which it was opened. */
const toDeleted = (
  { pid }: HeldFile,
  { file, shown }: { file: Stats; shown: string },
): ObstacleKind | undefined => {
  // A folder of the image keeps its links when it is removed.
  if (file.isDirectory()) return 'removed_folder';
  // CRIU looks for the file under the name that proc_pid_fd(5) shows, which exceeds the longest name (linux/limits.h).
  if (shown.length - 1 - shown.lastIndexOf('/') > 255) return 'long_deleted_name';
  return createSandboxRoot(pid).findFolder(posix.dirname(shown)).isBlocked ? 'linked_file' : undefined;
};

/** The flags with which it was opened, proc_pid_fdinfo(5). */
const readFlags = (info: string): number =>
  Number.parseInt(/^flags:\s+([0-7]+)$/m.exec(readFileSync(info, 'utf8'))?.[1] ?? '0', 8);

/** Whether it is a watch of a file of the kernel's, proc_pid_fdinfo(5) and proc_pid_mountinfo(5). */
const watchesKernel = ({ pid, path }: HeldFile, info: string): boolean => {
  if (readlinkSync(path) !== 'anon_inode:inotify') return false;
  const watched = [...readFileSync(info, 'utf8').matchAll(/^inotify .* sdev:([0-9a-f]+) /gm)];
  const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').matchAll(
    /^\d+ \d+ (\d+):(\d+) .* - (?:proc|sysfs) /gm,
  );
  // linux/kdev_t.h
  const devices = new Set([...mounts].map(([, major, minor]) => Number(major) * 2 ** 20 + Number(minor)));
  return watched.some(([, device = '']) => devices.has(Number.parseInt(device, 16)));
};

/** Number of a file system (linux/magic.h, ipc/mqueue.c) → obstacle that open files on it are. */
const unkept: ReadonlyMap<number, ObstacleKind> = new Map([
  [0x19800202, 'message_queue'],
  [0x5345434d, 'secret_memory'],
]);

const findSocket = async (pids: readonly number[]): Promise<Obstacle | undefined> => {
  let found: Obstacle | undefined;
  await visitFrozenSockets(pids, (socket) => {
    const kind = found ? undefined : (toCorked(socket) ?? toUnread(socket) ?? toRelative(socket));
    if (kind) found = { kind, process: observeProcess(socket.pid) };
  });
  return found;
};

const toCorked = ({ get }: SandboxSocket): ObstacleKind | undefined =>
  get(UDP_CORK) === 1 ? 'corked_socket' : undefined;

/** linux/udp.h */
const UDP_CORK: SocketOption = { level: 17, name: 1 };

const toUnread = ({ get, peek }: SandboxSocket): ObstacleKind | undefined => {
  if (get(SO_DOMAIN) !== AF_UNIX || attached.every((option) => !get(option))) return undefined;
  return peek() === undefined ? undefined : 'unread_message';
};

// asm-generic/socket.h and linux/socket.h
const SO_DOMAIN: SocketOption = { level: 1, name: 39 };
const AF_UNIX = 1;
/** SO_PASSCRED, SO_PASSSEC, SO_PASSPIDFD, and SO_TIMESTAMP and SO_TIMESTAMPNS in both forms. */
const attached: readonly SocketOption[] = [16, 34, 76, 29, 35, 63, 64].map((name) => ({ level: 1, name }));

/** A socket whose path does not end with the relative one that it was bound to, which CRIU requires. */
const toRelative = ({ pid, inode, readFile }: SandboxSocket): ObstacleKind | undefined => {
  const file = readFile();
  if (file === undefined) return undefined;
  // proc_net_unix(5)
  const table = readFileSync(`/proc/${pid}/net/unix`, 'latin1');
  const address = new RegExp(`^\\S+: \\S+ \\S+ \\S+ \\S+ \\S+ +${inode} (.*)$`, 'm').exec(table)?.[1];
  if (address === undefined || address.startsWith('/')) return undefined;
  return file.path.toString('latin1').endsWith(`/${address.replace(/^(\.\/+)+/, '')}`)
    ? undefined
    : 'socket_path';
};
