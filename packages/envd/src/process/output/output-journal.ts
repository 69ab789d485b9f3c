import { BLOCK_BYTES, giveBlock, takeBlock } from './block-pool.ts';
import { countIncompleteBytes } from './incomplete-character.ts';

export type OutputKind = 'stdout' | 'stderr' | 'pty';

/** A number of bytes for each kind of output. */
export type OutputOffsets = Readonly<Record<OutputKind, number>>;

export interface OutputPiece {
  kind: OutputKind;
  /** How many bytes of this kind were written before it. */
  position: number;
  /** Valid until the reader releases `lender`, and without that until the next call of the journal. */
  bytes: Uint8Array;
  lender: Lender;
  /** The piece is the beginning of a character, and nothing has been written after it. */
  isBegun: boolean;
}

/** The block of a piece. A reader counts itself here while it uses the piece; a reader that never releases it does no harm. */
export interface Lender {
  borrowerCount: number;
}

/** The latest output of one process. Every byte has an offset: how many bytes of any kind the process wrote before it. */
export interface OutputJournal {
  /** Offset of the oldest byte that is kept. */
  readonly start: number;
  /** Offset that the next byte will have. */
  readonly end: number;
  /** How many bytes of each kind were written before `offset`, which must be at least `start`. */
  positionsAt(offset: number): OutputOffsets;
  /**
   * Offset of the byte of this kind before which `position` bytes of the kind were written; `end` when it is the next to come.
   * Undefined when it is no longer kept. `position` must not be larger than what was written.
   */
  find(kind: OutputKind, position: number): number | undefined;
  /** Memory that it takes, for the bytes and for where they change their kind. */
  readonly costBytes: number;
  /** Keeps a copy of the bytes. */
  append(kind: OutputKind, bytes: Uint8Array): void;
  /**
   * A view of what begins at `offset`, as much as fits one message. Undefined at the end. `offset` must be at least `start`. Apart from
   * terminals it ends with a whole character of UTF-8 where it can: older clients decode each message for itself.
   */
  read(offset: number): OutputPiece | undefined;
  /** Drops the oldest block. */
  dropOldest(): void;
  /** Drops whole blocks that lie before `offset`, and everything when that is the end. */
  dropBefore(offset: number): void;
}

interface Block extends Lender {
  at: number;
  bytes: Uint8Array;
  usedBytes: number;
}

const FIRST_BLOCK_BYTES = 1024;
/**
 * The size from which bytes that arrive together stay in one block: if the block were cut at its end, they
 * would become one message more.
 */
const MIN_WHOLE_BYTES = 16 * 1024;
/** The approximate memory of the entry of a run. */
const RUN_BYTES = 40;
/** The limits of `process.proto` for its events. */
const MAX_PIECE_BYTES = { stdout: 32 * 1024, stderr: 32 * 1024, pty: 16 * 1024 };

/** Bytes of one kind in a row. */
interface Run {
  at: number;
  kind: OutputKind;
  /** How many bytes of this kind were written before it. */
  position: number;
}

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

/** The bytes are gathered in blocks. A block begins small, since most processes write little. */
export const createOutputJournal = (): OutputJournal => {
  let blocks: Block[] = [];
  let runs: Run[] = [];
  const written = { stdout: 0, stderr: 0, pty: 0 };
  let end = 0;
  let blockBytes = 0;
  const startOf = (): number => blocks[0]?.at ?? end;

  const push = (bytes: Uint8Array): Block => {
    const block = { at: end, bytes, usedBytes: 0, borrowerCount: 0 };
    blocks.push(block);
    blockBytes += bytes.length;
    return block;
  };

  const grow = (block: Block, minBytes: number): Block => {
    const sizeBytes = Math.min(BLOCK_BYTES, Math.max(2 * block.bytes.length, minBytes));
    const larger = sizeBytes === BLOCK_BYTES ? takeBlock() : new Uint8Array(sizeBytes);
    larger.set(block.bytes);
    blockBytes += larger.length - block.bytes.length;
    block.bytes = larger;
    return block;
  };

  /** The last block, if there is room in it or it can grow, else a new one. */
  const roomFor = (wantedBytes: number): Block => {
    const isWhole = wantedBytes >= MIN_WHOLE_BYTES;
    const tail = blocks.at(-1);
    if (tail === undefined)
      return push(isWhole ? takeBlock() : new Uint8Array(Math.max(FIRST_BLOCK_BYTES, wantedBytes)));
    const roomBytes = tail.bytes.length - tail.usedBytes;
    if (roomBytes >= wantedBytes || (roomBytes > 0 && !isWhole)) return tail;
    return isWhole || tail.bytes.length === BLOCK_BYTES
      ? push(takeBlock())
      : grow(tail, tail.usedBytes + wantedBytes);
  };

  const dropBlocks = (count: number): void => {
    for (const { bytes, borrowerCount } of blocks.slice(0, count)) {
      blockBytes -= bytes.length;
      if (bytes.length === BLOCK_BYTES) giveBlock(bytes, { isLent: borrowerCount > 0 });
    }
    blocks = blocks.slice(count);
    runs = blocks.length === 0 ? [] : runs.slice(indexAt(runs, startOf()));
  };

  /** The beginning of a character that ends one block, and what follows it in the next. */
  const join = (begun: Uint8Array, at: number, runEnd: number): Pick<OutputPiece, 'bytes' | 'isBegun'> => {
    const next = blocks[indexAt(blocks, at)];
    if (next === undefined) return { bytes: begun, isBegun: false };
    const until = Math.min(next.at + next.usedBytes, runEnd, at + MAX_PIECE_BYTES.stdout - begun.length);
    const bytes = Buffer.concat([begun, next.bytes.subarray(at - next.at, until - next.at)]);
    const begunBytes = countIncompleteBytes(bytes);
    if (begunBytes === bytes.length) return { bytes, isBegun: until === end };
    return { bytes: bytes.subarray(0, bytes.length - begunBytes), isBegun: false };
  };

  return {
    get start() {
      return startOf();
    },
    get end() {
      return end;
    },
    positionsAt(offset) {
      const positions = { ...written };
      if (offset >= end) return positions;
      // Backwards from the last run to the one at `offset`: for each kind, the earliest visited run decides.
      for (let index = runs.length - 1; index >= 0; index -= 1) {
        const run = runs[index] as Run;
        positions[run.kind] = run.position + Math.max(offset - run.at, 0);
        if (run.at <= offset) break;
      }
      return positions;
    },
    find(kind, position) {
      if (position === written[kind]) return end;
      const run = runs.findLast((each) => each.kind === kind && each.position <= position);
      const offset = run && run.at + position - run.position;
      return offset !== undefined && offset >= startOf() ? offset : undefined;
    },
    get costBytes() {
      return blockBytes + runs.length * RUN_BYTES;
    },
    append(kind, bytes) {
      if (bytes.length > 0 && runs.at(-1)?.kind !== kind)
        runs.push({ at: end, kind, position: written[kind] });
      written[kind] += bytes.length;
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
      const index = indexAt(runs, offset);
      const run = runs[index];
      if (block === undefined || run === undefined || offset >= end) return undefined;
      const { kind } = run;
      const runEnd = runs[index + 1]?.at ?? end;
      const until = Math.min(block.at + block.usedBytes, runEnd, offset + MAX_PIECE_BYTES[kind]);
      const bytes = block.bytes.subarray(offset - block.at, until - block.at);
      const position = run.position + offset - run.at;
      const piece = { kind, position, bytes, lender: block, isBegun: false };
      const begunBytes = kind === 'pty' ? 0 : countIncompleteBytes(bytes);
      // Where the kind changes, the rest of the character comes after something else, if at all.
      if (begunBytes === 0 || (until === runEnd && runEnd !== end)) return piece;
      if (begunBytes < bytes.length) return { ...piece, bytes: bytes.subarray(0, bytes.length - begunBytes) };
      if (until === end) return { ...piece, isBegun: true };
      return { ...piece, ...join(bytes, until, runEnd) };
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
