import { readFileSync, statSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import type { FileHandle, Inotify, Watch } from '../../../../gen/criu/images/images_pb.ts';
import { listDescriptors } from '../descriptors/list-descriptors.ts';

/**
 * Removes the watches of files that are deleted but open: CRIU can restore such a file, but cannot find it again from its watch.
 * The watch could only report writes by programs that still have it open. Resolves with whether there were any.
 */
export const dropDeadWatches = async (
  watchers: readonly Inotify[],
  pids: readonly number[],
): Promise<boolean> => {
  if (watchers.every(({ watches }) => watches.length === 0)) return false;
  const deleted = await findDeleted(pids);
  const isDead = ({ device, inode, handle }: Watch): boolean =>
    deleted.has(toKey(device, inode)) && (handle === undefined || mayBeOf(handle, inode));
  let hasDropped = false;
  for (const watcher of watchers) {
    const living = watcher.watches.filter((watch) => !isDead(watch));
    hasDropped ||= living.length < watcher.watches.length;
    watcher.watches = living;
  }
  return hasDropped;
};

/** Returns the key of a file: the device of its file system, as watches name it, and its inode. */
const toKey = (device: number, inode: bigint): string => `${device}:${inode}`;

// linux/exportfs.h, fs/overlayfs/overlayfs.h: three bytes, then version, magic, length, flags and type, then of which file
// system, then that one's own handle.
const OVL_FILEID_V1 = 0xf8;
const FILEID_INO32_GEN = 1n;
const OWN_HANDLE_WORD = 3;

/**
 * Whether the handle of a watch can be that of a file with this inode number. An overlay numbers its folders separately, so a
 * folder can have the inode number of a file on the file system below. Only the handle distinguishes them.
 */
const mayBeOf = ({ type, words }: FileHandle, inode: bigint): boolean => {
  const [first] = words;
  const own = words[OWN_HANDLE_WORD];
  if (type !== OVL_FILEID_V1 || first === undefined || own === undefined) return true;
  const ownType = first >> 56n;
  return ownType !== FILEID_INO32_GEN || BigInt.asUintN(32, own) === inode;
};

/** The files without a name that the processes have open, each with the device of its file system, as watches name them. */
const findDeleted = async (pids: readonly number[]): Promise<ReadonlySet<string>> => {
  const yielder = createYielder();
  const seen = new Set<string>();
  const found = new Set<string>();
  const devicesOf = createDevices();
  for (const { pid, name } of listDescriptors(pids)) {
    // A descriptor may be gone by now.
    const status = statSync(`/proc/${pid}/fd/${name}`, { bigint: true, throwIfNoEntry: false });
    const file = status && `${status.dev}:${status.ino}`;
    if (status?.nlink === 0n && file !== undefined && !seen.has(file)) {
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
