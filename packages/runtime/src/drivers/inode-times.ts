import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { runCommand } from '../kernel/run-command.ts';

/** The places of https://docs.kernel.org/filesystems/ext4/globals.html that are read here. */
const SUPERBLOCK_AT = 1024;
const SUPERBLOCK_BYTES = 1024;
const UNUSED_TABLE = 1;
const ROOT_INODE = 2;
/** The number of lines in one input of debugfs: they are in memory until they are written. */
const MAX_LINES = 200_000;
/** An image may have a million of them. */
const INODES_BEFORE_YIELD = 1024;
const DEADLINE_MS = 30 * 60_000;

/**
 * Sets the times of access and of change to that of modification, for each entry of an ext4 file system at `path` which nothing has
 * mounted, and those of its root to 0. `env` is of the program that writes them. Rejects as `runCommand` does, and with the
 * reason of `signal`; the file is worthless then.
 */
export const alignInodeTimes = async (
  path: string,
  {
    blockBytes,
    env,
    signal,
  }: { blockBytes: number; env: Record<string, string>; signal?: AbortSignal | undefined },
): Promise<void> => {
  const write = async (lines: readonly string[]): Promise<void> => {
    // `debugfs -w` writes the checksum of each inode as well.
    const args = ['-w', '-f', '/dev/stdin', path];
    const input = `${lines.join('\n')}\n`;
    await runCommand({ file: 'debugfs', args, input, env, timeoutMs: DEADLINE_MS, signal });
  };
  let lines: string[] = [];
  for await (const { inode, modifiedAtSeconds } of readInodes(path, blockBytes)) {
    signal?.throwIfAborted();
    // That of the root is of the folder, which is not part of what it contains.
    const isRoot = inode === ROOT_INODE;
    const seconds = isRoot ? 0 : modifiedAtSeconds;
    for (const field of isRoot ? ['ctime', 'atime', 'mtime'] : ['ctime', 'atime'])
      lines.push(`sif <${inode}> ${field} @${seconds}`, `sif <${inode}> ${field}_extra 0`);
    if (lines.length < MAX_LINES) continue;
    await write(lines);
    lines = [];
  }
  await write(lines);
};

interface Inode {
  inode: number;
  modifiedAtSeconds: number;
}

/** Yields the inodes of all entries, and of the file system itself. */
async function* readInodes(path: string, blockBytes: number): AsyncGenerator<Inode> {
  await using file = await open(path, 'r');
  const superblock = await readAt(file, SUPERBLOCK_AT, SUPERBLOCK_BYTES);
  const inodeCount = superblock.readUInt32LE(0);
  const inodesPerGroup = superblock.readUInt32LE(40);
  const inodeBytes = superblock.readUInt16LE(88);
  const descriptorBytes = superblock.readUInt16LE(254);
  const groupCount = inodeCount / inodesPerGroup;
  // Blocks have more than the superblock and what is before it.
  const descriptors = await readAt(file, blockBytes, groupCount * descriptorBytes);
  for (let group = 0; group < groupCount; group += 1) {
    const descriptor = descriptors.subarray(group * descriptorBytes);
    if ((descriptor.readUInt16LE(18) & UNUSED_TABLE) !== 0) continue;
    const tableBlock = descriptor.readUInt32LE(40) * 2 ** 32 + descriptor.readUInt32LE(8);
    const table = await readAt(file, tableBlock * blockBytes, inodesPerGroup * inodeBytes);
    for (let index = 0; index < inodesPerGroup; index += 1) {
      // Sockets and timers of this process go on meanwhile.
      if (index % INODES_BEFORE_YIELD === 0) await setImmediate();
      const at = index * inodeBytes;
      const linkCount = table.readUInt16LE(at + 26);
      if (linkCount === 0) continue;
      // Times before 1970 are negative.
      const modifiedAtSeconds = Math.max(0, table.readInt32LE(at + 16));
      yield { inode: group * inodesPerGroup + index + 1, modifiedAtSeconds };
    }
  }
}

const readAt = async (file: FileHandle, at: number, length: number): Promise<Buffer> =>
  (await file.read(Buffer.alloc(length), 0, length, at)).buffer;
