export type OutputKind = 'stdout' | 'stderr' | 'pty';

/** The latest output of one process. Every byte has an offset: how many bytes of any kind the process wrote before it. */
export interface OutputJournal {
  /** Offset of the oldest byte that is kept. */
  readonly start: number;
  /** Offset that the next byte will have. */
  readonly end: number;
  /** Memory that it takes, for the bytes and for where they change their kind. */
  readonly costBytes: number;
  /** The caller does not change the bytes any more. */
  append(kind: OutputKind, bytes: Uint8Array): void;
  /** A view of what begins at `offset`, as much as fits one message. Undefined at the end. `offset` must be at least `start`. */
  read(offset: number): { kind: OutputKind; bytes: Uint8Array } | undefined;
  /** Gives up the oldest block. */
  dropOldest(): void;
  /** Gives up whole blocks that lie before `offset`, and everything when that is the end. */
  dropBefore(offset: number): void;
}

interface Block {
  at: number;
  bytes: Uint8Array;
  usedBytes: number;
  /** Made here, with room to be filled and to grow. */
  isOwn: boolean;
}

const BLOCK_BYTES = 64 * 1024;
const FIRST_BLOCK_BYTES = 1024;
/** From this size on bytes are kept as they came. Smaller ones would take more for themselves than for what they hold. */
const MIN_ADOPTED_BYTES = 16 * 1024;
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
 * Keeps large pieces as they came and gathers small ones in blocks. A block begins small, since most processes write little.
 * Nothing that was written is ever changed, so a view stays good for as long as anybody holds it.
 */
export const createOutputJournal = (): OutputJournal => {
  let blocks: Block[] = [];
  let runs: { at: number; kind: OutputKind }[] = [];
  let end = 0;
  let blockBytes = 0;
  const startOf = (): number => blocks[0]?.at ?? end;

  const push = (bytes: Uint8Array, { isOwn }: { isOwn: boolean }): Block => {
    const block = { at: end, bytes, usedBytes: 0, isOwn };
    blocks.push(block);
    blockBytes += bytes.length;
    return block;
  };

  /** The last block, if there is room in it or it can grow, else a new one. */
  const roomFor = (wantedBytes: number): Block => {
    const tail = blocks.at(-1);
    if (tail === undefined || !tail.isOwn) {
      return push(new Uint8Array(Math.max(FIRST_BLOCK_BYTES, wantedBytes)), { isOwn: true });
    }
    if (tail.usedBytes < tail.bytes.length) return tail;
    if (tail.bytes.length === BLOCK_BYTES) return push(new Uint8Array(BLOCK_BYTES), { isOwn: true });
    const larger = new Uint8Array(
      Math.min(BLOCK_BYTES, Math.max(2 * tail.bytes.length, tail.usedBytes + wantedBytes)),
    );
    larger.set(tail.bytes);
    blockBytes += larger.length - tail.bytes.length;
    tail.bytes = larger;
    return tail;
  };

  const dropBlocks = (count: number): void => {
    for (const { bytes } of blocks.slice(0, count)) blockBytes -= bytes.length;
    blocks = blocks.slice(count);
    runs = blocks.length === 0 ? [] : runs.slice(indexAt(runs, startOf()));
  };

  return {
    get start() {
      return startOf();
    },
    get end() {
      return end;
    },
    get costBytes() {
      return blockBytes + runs.length * RUN_BYTES;
    },
    append(kind, bytes) {
      if (bytes.length > 0 && runs.at(-1)?.kind !== kind) runs.push({ at: end, kind });
      if (bytes.length >= MIN_ADOPTED_BYTES) {
        push(bytes, { isOwn: false }).usedBytes = bytes.length;
        end += bytes.length;
        return;
      }
      for (let from = 0; from < bytes.length; ) {
        const block = roomFor(bytes.length - from);
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
      const bytes = block.bytes.subarray(from, from + Math.min(until - offset, MAX_PIECE_BYTES[kind]));
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
