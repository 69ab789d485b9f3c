export type OutputKind = 'stdout' | 'stderr' | 'pty';

/** The latest output of one process. Every byte has an offset: how many bytes of any kind the process wrote before it. */
export interface OutputJournal {
  /** Offset of the oldest byte that is kept. */
  readonly start: number;
  /** Offset that the next byte will have. */
  readonly end: number;
  /** Memory that it takes, for the bytes and for where they change their kind. */
  readonly costBytes: number;
  append(kind: OutputKind, bytes: Uint8Array): void;
  /** A copy of what begins at `offset`, as much as fits one message. Undefined at the end. `offset` must be at least `start`. */
  read(offset: number): { kind: OutputKind; bytes: Uint8Array } | undefined;
  /** Gives up the oldest bytes, about 64 KiB of them. */
  dropOldest(): void;
  /** Gives up whole blocks that lie before `offset`, and everything when that is the end. */
  dropBefore(offset: number): void;
}

interface Block {
  at: number;
  bytes: Uint8Array;
  usedBytes: number;
}

const BLOCK_BYTES = 64 * 1024;
const FIRST_BLOCK_BYTES = 1024;
/** What the place where the kind changes takes, about. */
const RUN_BYTES = 32;
/** As `process.proto` limits its events. */
const MAX_PIECE_BYTES = { stdout: 32 * 1024, stderr: 32 * 1024, pty: 16 * 1024 };

/** Index of the last entry at or before an offset. */
const indexAt = (entries: readonly { at: number }[], offset: number): number => {
  let low = 0;
  let high = entries.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((entries[middle]?.at ?? 0) <= offset) low = middle;
    else high = middle;
  }
  return low;
};

/**
 * Keeps bytes in blocks of its own, so that the buffers they came in die young, and uses a block that it gave up again: a
 * process that writes for hours makes no garbage here. The first block begins small, since most processes write little.
 */
export const createOutputJournal = (): OutputJournal => {
  let blocks: Block[] = [];
  let runs: { at: number; kind: OutputKind }[] = [];
  let spare: Uint8Array | undefined;
  let end = 0;
  let blockBytes = 0;
  const startOf = (): number => blocks[0]?.at ?? end;

  const roomAfter = (tail: Block | undefined, wantedBytes: number): Block => {
    if (tail !== undefined && tail.usedBytes < tail.bytes.length) return tail;
    if (tail !== undefined && tail.bytes.length < BLOCK_BYTES) {
      const larger = new Uint8Array(
        Math.min(BLOCK_BYTES, Math.max(2 * tail.bytes.length, tail.usedBytes + wantedBytes)),
      );
      larger.set(tail.bytes);
      blockBytes += larger.length - tail.bytes.length;
      tail.bytes = larger;
      return tail;
    }
    const size =
      tail === undefined ? Math.min(BLOCK_BYTES, Math.max(FIRST_BLOCK_BYTES, wantedBytes)) : BLOCK_BYTES;
    const bytes = size === BLOCK_BYTES && spare !== undefined ? spare : new Uint8Array(size);
    if (bytes === spare) spare = undefined;
    const block = { at: end, bytes, usedBytes: 0 };
    blocks.push(block);
    blockBytes += size;
    return block;
  };

  const dropBlocks = (count: number): void => {
    for (const { bytes } of blocks.slice(0, count)) {
      blockBytes -= bytes.length;
      if (bytes.length === BLOCK_BYTES) spare = bytes;
    }
    blocks = blocks.slice(count);
    runs = blocks.length === 0 ? [] : runs.slice(indexAt(runs, startOf()));
    if (blocks.length === 0) spare = undefined;
  };

  return {
    get start() {
      return startOf();
    },
    get end() {
      return end;
    },
    get costBytes() {
      return blockBytes + (spare?.length ?? 0) + runs.length * RUN_BYTES;
    },
    append(kind, bytes) {
      if (bytes.length > 0 && runs.at(-1)?.kind !== kind) runs.push({ at: end, kind });
      for (let from = 0; from < bytes.length; ) {
        const block = roomAfter(blocks.at(-1), bytes.length - from);
        const part = bytes.subarray(from, from + block.bytes.length - block.usedBytes);
        block.bytes.set(part, block.usedBytes);
        block.usedBytes += part.length;
        from += part.length;
        end += part.length;
      }
    },
    read(offset) {
      const block = blocks[indexAt(blocks, offset)];
      const run = indexAt(runs, offset);
      const kind = runs[run]?.kind;
      if (block === undefined || kind === undefined || offset >= end) return undefined;
      const until = Math.min(block.at + block.usedBytes, runs[run + 1]?.at ?? end);
      const from = offset - block.at;
      // A copy: the block is written over while the message still waits for its socket.
      const bytes = block.bytes.slice(from, from + Math.min(until - offset, MAX_PIECE_BYTES[kind]));
      return { kind, bytes };
    },
    dropOldest() {
      dropBlocks(1);
    },
    dropBefore(offset) {
      if (offset >= end) dropBlocks(blocks.length);
      else if (offset > startOf()) dropBlocks(indexAt(blocks, offset));
    },
  };
};
