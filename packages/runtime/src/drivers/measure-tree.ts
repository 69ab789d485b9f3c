import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { RuntimeError } from '../error.ts';
import { startProgram } from '../kernel/start-program.ts';

export const BLOCK_BYTES = 4096;
/** What an entry of a folder takes beside its name, at most. */
const NAME_BYTES = 11;

/** What a file system needs for a tree. */
export interface TreeMeasure {
  entryCount: number;
  blockCount: number;
  /** Follows from what the entries are, without their content. */
  uuid: string;
}

/** What `find` prints of each entry: kind, size, allocated blocks of 512 bytes, what the UUID follows from, and its path. */
const FORMAT = '%y %s %b %m %U %G %T@ %P\\0';

/**
 * Counts the entries of a folder, and the blocks that their content needs. A program reads the folders, which may have millions of entries.
 * Rejects with `internal` when one cannot be read, or with the reason of `signal`.
 */
export const measureTree = async (folder: string, signal: AbortSignal | undefined): Promise<TreeMeasure> => {
  const find = startProgram({
    file: 'find',
    args: [folder, '-mindepth', '1', '-printf', FORMAT],
    env: { LC_ALL: 'C' },
    stdio: ['ignore', 'output', 'output'],
    ownSession: true,
    signal,
  });
  const [, stdout, stderr] = find.pipes as [undefined, Socket, Socket];
  const complaint = text(stderr).catch(() => '');
  const count = createCount();
  for await (const record of readRecords(stdout)) count.add(record);
  const end = await find.ended;
  signal?.throwIfAborted();
  if (end !== 0)
    throw new RuntimeError('internal', `find ended with ${end}: ${(await complaint).trim().slice(-500)}`);
  return count.total();
};

/** The records of a stream, each of which ends with a zero. */
async function* readRecords(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held: Buffer = Buffer.alloc(0);
  for await (const piece of source) {
    held = Buffer.concat([held, piece]);
    let start = 0;
    for (let end = held.indexOf(0); end !== -1; end = held.indexOf(0, start)) {
      yield held.subarray(start, end);
      start = end + 1;
    }
    held = held.subarray(start);
  }
}

const createCount = (): { add(record: Buffer): void; total(): TreeMeasure } => {
  let entryCount = 1;
  // The root has one, and each folder another for the names that do not fill it.
  let blockCount = 2;
  let namesBytes = 0;
  let sum = 0n;
  return {
    add: (record) => {
      const [kind, size, blocks, mode, uid, gid, time = ''] = record.toString('latin1').split(' ', 7);
      const isFolder = kind === 'd';
      const [seconds] = time.split('.');
      const path = record.subarray(record.indexOf(time) + time.length + 1);
      const description = [kind, isFolder ? 0 : size, mode, uid, gid, seconds].join();
      const digest = hash('sha256', Buffer.concat([path, Buffer.from(`\0${description}`)]), 'hex');
      // A sum: programs list entries in the order of the disk.
      sum += BigInt(`0x${digest.slice(0, 32)}`);
      entryCount += 1;
      namesBytes += NAME_BYTES + path.length - (path.lastIndexOf('/') + 1);
      // What the host has allocated can be more, in another way for each copy; with holes it is less.
      const contentBytes = isFolder ? 0 : Math.min(Number(size), Number(blocks) * 512);
      // One more: an extended attribute that the inode cannot hold takes a block.
      blockCount += 1 + Math.ceil(contentBytes / BLOCK_BYTES) + (isFolder ? 2 : 0);
    },
    total: () => ({
      entryCount,
      blockCount: blockCount + Math.ceil(namesBytes / BLOCK_BYTES),
      uuid: toUuid(hash('sha256', sum.toString(), 'hex')),
    }),
  };
};

/** One of version 8, which is of any content (RFC 9562). */
const toUuid = (hex: string): string =>
  [
    ...[hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`],
    ...[`8${hex.slice(17, 20)}`, hex.slice(20, 32)],
  ].join('-');
