import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { runCommand } from '../../../kernel/run-command.ts';
import { ioctl, MountFlag, mountAside, SyscallError, unmountEveryAside } from '../../../kernel/syscalls.ts';
import { readDataRanges } from './copy-disk.ts';

const BLOCK_BYTES = 4096;
const FORMAT_DEADLINE_MS = 120_000;

/** A freshly formatted file system: its length and the few blocks in it that are not zero. */
interface Format {
  sizeBytes: number;
  blocks: { offset: number; bytes: Buffer }[];
}

/**
 * Makes file systems of a given size, as sparse images on loop devices: files and inodes of a sandbox are bounded
 * without project quotas, which many kernels are built without.
 *
 * Formatting is done once per size. mkfs writes some 60 kB for 40 GB, so further images are written from memory in a
 * fraction of a millisecond.
 */
export const createDiskFormatter = (
  scratchDir: string,
): ((path: string, sizeBytes: number) => Promise<void>) => {
  sweep(scratchDir);
  const formats = new Map<number, Promise<Format>>();

  const formatOf = (sizeBytes: number): Promise<Format> => {
    const known = formats.get(sizeBytes);
    if (known) return known;
    const made = makeFormat(scratchDir, sizeBytes);
    formats.set(sizeBytes, made);
    made.catch(() => formats.delete(sizeBytes));
    return made;
  };

  return async (path, sizeBytes) => {
    const format = await formatOf(Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES);
    const image = openSync(path, 'wx', 0o600);
    try {
      ftruncateSync(image, format.sizeBytes);
      for (const { offset, bytes } of format.blocks) writeSync(image, bytes, 0, bytes.length, offset);
    } finally {
      closeSync(image);
    }
  };
};

const scratchPrefix = 'format-';

/** Makes the folder, and removes what an earlier process was formatting when it was killed. */
const sweep = (scratchDir: string): void => {
  mkdirSync(scratchDir, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(scratchDir)) {
    if (name.startsWith(scratchPrefix)) rmSync(`${scratchDir}/${name}`);
  }
};

const makeFormat = async (scratchDir: string, sizeBytes: number): Promise<Format> => {
  const path = `${scratchDir}/${scratchPrefix}${sizeBytes}.ext4`;
  try {
    const image = await open(path, 'wx', 0o600);
    await image.truncate(sizeBytes);
    await image.close();
    // ea_inode: metadata of a file may need more than what is left of a block beside its names (ext4(5)). No journal:
    // what must survive a power cut is made durable by a pause, not by the sandbox's own file system.
    await runCommand({
      file: 'mkfs.ext4',
      args: [
        ...['-q', '-F', '-b', String(BLOCK_BYTES), '-m', '0', '-i', '16384'],
        ...['-O', '^has_journal,^resize_inode,sparse_super2,ea_inode'],
        ...['-E', 'lazy_itable_init=1,nodiscard,num_backup_sb=0,packed_meta_blocks=1,root_owner=0:0'],
        path,
      ],
      timeoutMs: FORMAT_DEADLINE_MS,
    });
    return { sizeBytes, blocks: readBlocks(path) };
  } finally {
    await rm(path, { force: true });
  }
};

const readBlocks = (path: string): Format['blocks'] => {
  const fd = openSync(path, 'r');
  try {
    const blocks: Format['blocks'] = [];
    for (const { offset, length } of readDataRanges(fd)) {
      const bytes = Buffer.alloc(length);
      readSync(fd, bytes, 0, length, offset);
      blocks.push({ offset, bytes });
    }
    return blocks;
  } finally {
    closeSync(fd);
  }
};

// linux/loop.h
const LOOP_CTL_GET_FREE = 0x4c82;
const LOOP_CONFIGURE = 0x4c0a;
const LO_FLAGS_READ_ONLY = 1;
const LO_FLAGS_AUTOCLEAR = 4;
const LO_FLAGS_DIRECT_IO = 16;
const LOOP_CONFIG_BYTES = 304;
const LO_FLAGS_OFFSET = 60;

/** Attaches the image to a free loop device and returns it open: the device detaches itself after its last user. */
const attachLoop = (image: number, { readOnly }: { readOnly: boolean }): { device: number; path: string } => {
  const config = Buffer.alloc(LOOP_CONFIG_BYTES);
  config.writeUInt32LE(image, 0);
  config.writeUInt32LE(BLOCK_BYTES, 4);
  // Direct I/O, so that the host does not cache the sandbox's pages a second time.
  const access = readOnly ? LO_FLAGS_READ_ONLY : 0;
  config.writeUInt32LE(LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO | access, LO_FLAGS_OFFSET);
  const control = openSync('/dev/loop-control', 'r+');
  try {
    for (;;) {
      const path = `/dev/loop${ioctl(control, LOOP_CTL_GET_FREE, 0)}`;
      const device = openSync(path, readOnly ? 'r' : 'r+');
      try {
        ioctl(device, LOOP_CONFIGURE, config);
        return { device, path };
      } catch (error) {
        closeSync(device);
        // Busy: another process of this host has attached an image to this device since it was found free. Try the next one.
        if (!(error instanceof SyscallError && error.code === 'EBUSY')) throw error;
      }
    }
  } finally {
    closeSync(control);
  }
};

// The overlay above has flags of its own: programs in it can be executed, with setuid.
const flags = MountFlag.nosuid | MountFlag.nodev | MountFlag.noexec | MountFlag.noatime;

/** Mounts the image at `target`, which it makes. */
export const mountDisk = async (options: {
  image: string;
  target: string;
  readOnly?: boolean;
}): Promise<void> => {
  const { readOnly = false } = options;
  mkdirSync(options.target, { mode: 0o700 });
  const image = openSync(options.image, readOnly ? 'r' : 'r+');
  try {
    const loop = attachLoop(image, { readOnly });
    try {
      await mountAside({
        source: loop.path,
        target: options.target,
        type: 'ext4',
        flags: flags | (readOnly ? MountFlag.readOnly : 0),
        // Without mbcache no two files share a block of attributes. When one of them is deleted and still open, it is
        // missing in a copy of the disk, and e2fsck does not recount the users of the block without asking.
        data: 'nobarrier,noinit_itable,no_mbcache',
      });
    } finally {
      closeSync(loop.device);
    }
  } finally {
    closeSync(image);
  }
};

// ext4.h: discard unwritten data, so that unmounting does not write a file system that is about to be deleted.
const EXT4_IOC_SHUTDOWN = 0x8004587d;
const EXT4_GOING_FLAGS_NOLOGFLUSH = 2;

/** Discards the mounted file system with its unwritten data. Does nothing when none is mounted. */
export const discardDisk = async (target: string): Promise<void> => {
  let fd: number;
  try {
    fd = openSync(target, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  try {
    // Require a loop mount: on any other device this call would shut down a file system of the host.
    if (isLoopMount(fd, target)) {
      const flags = Buffer.alloc(4);
      flags.writeUInt32LE(EXT4_GOING_FLAGS_NOLOGFLUSH);
      ioctl(fd, EXT4_IOC_SHUTDOWN, flags);
    }
  } finally {
    closeSync(fd);
  }
  await unmountEveryAside(target);
};

const LOOP_MAJOR = 7;

/** Whether something is mounted at `path`; false for a folder that does not exist. */
export const isMountPoint = (path: string): boolean => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.dev !== statSync(dirname(path)).dev;
};

const isLoopMount = (fd: number, target: string): boolean => {
  const { dev } = fstatSync(fd);
  return dev !== statSync(dirname(target)).dev && ((dev >> 8) & 0xfff) === LOOP_MAJOR;
};
