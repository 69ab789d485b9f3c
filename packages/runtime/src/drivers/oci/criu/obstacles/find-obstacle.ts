import { constants, readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { readIfPresent } from '../../../../kernel/read-if-present.ts';
import { O_PATH } from '../../../../kernel/syscalls.ts';
import { listDescriptors, MAX_DESCRIPTORS } from '../descriptors/list-descriptors.ts';
import { type SocketOption, visitFrozenSockets } from '../sockets/sandbox-sockets.ts';

/**
 * Finds out why CRIU could not dump frozen processes, where the cause is something that they hold: call it when CRIU
 * has failed and ended. Resolves with undefined for other causes, also unknown ones.
 */
export const findObstacle = async (pids: readonly number[]): Promise<string | undefined> =>
  (await findFile(pids)) ?? (await findCorked(pids));

const findFile = async (pids: readonly number[]): Promise<string | undefined> => {
  const yielder = createYielder();
  let looks = 0;
  for (const file of listFiles(pids)) {
    const obstacle = readIfPresent(() => toObstacle(file));
    if (obstacle !== undefined) return obstacle;
    looks += 1;
    if (looks > MAX_LOOKS) return undefined;
    await yielder();
  }
  return undefined;
};

/** Code inside may have mapped a thousand times as much. */
const MAX_LOOKS = 2 * MAX_DESCRIPTORS;

/** A file that a process has open or has mapped. */
interface HeldFile {
  path: string;
  /** What a descriptor shows of its file. */
  info?: string;
}

function* listFiles(pids: readonly number[]): Generator<HeldFile> {
  for (const { pid, name } of listDescriptors(pids))
    yield { path: `/proc/${pid}/fd/${name}`, info: `/proc/${pid}/fdinfo/${name}` };
  for (const pid of pids) {
    const folder = `/proc/${pid}/map_files`;
    for (const name of readIfPresent(() => readdirSync(folder)) ?? []) yield { path: `${folder}/${name}` };
  }
}

const toObstacle = ({ path, info }: HeldFile): string | undefined => {
  const file = statSync(path);
  if (file.nlink > 0 && isLongDeletedName(readlinkSync(path, 'buffer')))
    return 'a process has a file open whose name of more than 245 bytes was deleted while the file has other hard links';
  const flags = (file.isSocket() || file.isFIFO()) && info !== undefined ? readFlags(info) : 0;
  if (flags & O_PATH) return 'a socket or named pipe is open by its name alone';
  if (file.isFIFO() && flags & constants.O_DIRECT) return 'a pipe is in packet mode';
  return unkept.get(statfsSync(path).type);
};

/**
 * CRIU looks for the file under the name that `proc_pid_fd(5)` shows, which exceeds the longest name (linux/limits.h).
 */
const isLongDeletedName = (shown: Buffer): boolean =>
  shown.length - 1 - shown.lastIndexOf('/') > 255 && shown.toString('latin1').endsWith(' (deleted)');

/** The flags with which it was opened, proc_pid_fdinfo(5). */
const readFlags = (info: string): number =>
  Number.parseInt(/^flags:\s+([0-7]+)$/m.exec(readFileSync(info, 'utf8'))?.[1] ?? '0', 8);

/** By the file systems that they are on, linux/magic.h, ipc/mqueue.c. */
const unkept: ReadonlyMap<number, string> = new Map([
  [0x19800202, 'a POSIX message queue is open'],
  [0x5345434d, 'a process has secret memory'],
]);

const findCorked = async (pids: readonly number[]): Promise<string | undefined> => {
  let isCorked = false;
  await visitFrozenSockets(pids, ({ get }) => {
    isCorked ||= get(UDP_CORK) === 1;
  });
  return isCorked ? 'a UDP socket is corked' : undefined;
};

/** linux/udp.h */
const UDP_CORK: SocketOption = { level: 17, name: 1 };
