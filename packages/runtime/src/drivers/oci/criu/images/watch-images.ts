import { readFileSync, statSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { listDescriptors } from '../obstacles/descriptors.ts';
import { type Field, readFields, type Span, UNKNOWN_BYTES } from './files-image.ts';

/**
 * Takes the watches of files that have no name any more, but are open, out of the bytes of `files.img`: such a file can be
 * restored, and not be found by what a watch knows of it. Nothing but writing by those who have it open would be told.
 * `watchers` are the files of kind `FILE_INOTIFY` in it. Resolves with whether there were any; rejects with `internal` when
 * the bytes cannot be understood.
 */
export const dropDeadWatches = async (
  bytes: Buffer,
  { watchers, pids }: { watchers: readonly Field[][]; pids: readonly number[] },
): Promise<boolean> => {
  const watches = watchers.flat().filter(({ number }) => number === WATCH);
  if (watches.length === 0) return false;
  const deleted = await findDeleted(pids);
  const isDead = (watch: Field): boolean => {
    const fields = readFields(bytes, watch);
    const one = (number: number): number => fields.find((field) => field.number === number)?.value ?? 0;
    const inode = one(WATCH_INODE);
    const handle = fields.find(({ number }) => number === WATCH_HANDLE);
    return deleted.has(toKey(one(WATCH_DEVICE), inode)) && (!handle || mayBeOf(bytes, handle, inode));
  };
  const dead = watches.filter(isDead);
  for (const { tagAt } of dead) bytes[tagAt] = UNKNOWN_BYTES;
  return dead.length > 0;
};

// criu: images/fdinfo.proto, images/fsnotify.proto
export const FILE_INOTIFY = 13;
const WATCH = 5;
const WATCH_INODE = 2;
const WATCH_DEVICE = 5;
const WATCH_HANDLE = 7;
const HANDLE_TYPE = 2;
const HANDLE_WORDS = 3;

const toKey = (device: number, inode: number): string => `${device}:${inode}`;

// linux/exportfs.h, fs/overlayfs/overlayfs.h: three bytes, then version, magic, length, flags and type, then of which file
// system, then that one's own handle.
const OVL_FILEID_V1 = 0xf8;
const FILEID_INO32_GEN = 1;
const OWN_HANDLE_WORD = 3;

/**
 * Whether the handle by which a watch holds on to something can be that of a file with that number. An overlay counts its
 * folders by themselves: one may have the number that a file has on the file system below, and only its handle has its own.
 */
const mayBeOf = (bytes: Buffer, handle: Field, inode: number): boolean => {
  const fields = readFields(bytes, handle);
  const words = fields.filter(({ number }) => number === HANDLE_WORDS);
  const [first] = words;
  const own = words[OWN_HANDLE_WORD];
  const type = fields.find(({ number }) => number === HANDLE_TYPE)?.value;
  if (type !== OVL_FILEID_V1 || first === undefined || own === undefined) return true;
  const ownType = Math.floor(first.value / 2 ** 56);
  return ownType !== FILEID_INO32_GEN || readLow32(bytes, own) === inode;
};

/** A number of 64 bits is not kept to the last of them. */
const readLow32 = (bytes: Buffer, { start, end }: Span): number => {
  let value = 0;
  for (let at = start; at < Math.min(end, start + 5); at++)
    value += (bytes.readUInt8(at) & 0x7f) * 2 ** (7 * (at - start));
  return value % 2 ** 32;
};

/** The files without a name that the processes have open, each with the device of its file system, as watches name them. */
const findDeleted = async (pids: readonly number[]): Promise<ReadonlySet<string>> => {
  const yielder = createYielder();
  const seen = new Set<string>();
  const found = new Set<string>();
  const devicesOf = createDevices();
  for (const { pid, name } of listDescriptors(pids)) {
    // A descriptor may be gone by now.
    const status = statSync(`/proc/${pid}/fd/${name}`, { throwIfNoEntry: false });
    const file = status && toKey(status.dev, status.ino);
    if (status?.nlink === 0 && file !== undefined && !seen.has(file)) {
      seen.add(file);
      const device = devicesOf(pid).get(readMountId(pid, name));
      if (device !== undefined) found.add(toKey(device, status.ino));
    }
    await yielder();
  }
  return found;
};

const readMountId = (pid: number, descriptor: string): string =>
  /^mnt_id:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8'))?.[1] ?? '';

/**
 * The devices of the mounts that a process sees, by the number of the mount: what an overlay says of the device of a file is
 * that of one of its layers. Memory without a mount has no watches. proc_pid_mountinfo(5), linux/kdev_t.h
 */
const createDevices = (): ((pid: number) => ReadonlyMap<string, number>) => {
  let last: { pid: number; devices: ReadonlyMap<string, number> } | undefined;
  return (pid) => {
    if (last?.pid !== pid) {
      const mounts = readFileSync(`/proc/${pid}/mountinfo`, 'utf8').matchAll(/^(\d+) \d+ (\d+):(\d+) /gm);
      const devices = [...mounts].map(([, id = '', major, minor]): [string, number] => [
        id,
        Number(major) * 2 ** 20 + Number(minor),
      ]);
      last = { pid, devices: new Map(devices) };
    }
    return last.devices;
  };
};
