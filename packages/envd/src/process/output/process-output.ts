import { invalid } from '@skerry/contract/error';
import type { ExitStatus } from '../exit-status.ts';
import type { OutputBudget, OutputHolder } from './output-budget.ts';
import { noteDelivered } from './output-garbage.ts';
import { createOutputJournal, type Lender, type OutputKind, type OutputOffsets } from './output-journal.ts';

export type OutputEvent =
  /** `position`: how many bytes of this kind were written before. */
  { case: OutputKind; value: Uint8Array; position: number } | { case: 'end'; value: ExitStatus };

/** One reader of the output of one process. */
export interface Subscription {
  /** Where it begins. */
  readonly offset: number;
  /** How many bytes of each kind were written before. */
  readonly positions: OutputOffsets;
  /**
   * Takes the next piece. The last piece is `end`; after it the result is undefined. Fails with `SlowReaderError` when the reader was
   * dropped, and with the error of `discard`. Only one call may wait at a time.
   */
  take(): Promise<OutputEvent | undefined>;
  /** Makes a waiting and all later calls of `take` fail. */
  discard(error: Error): void;
  /** Idempotent. */
  unsubscribe(): void;
}

export interface SubscribeOptions {
  /** Where to begin: moved up to the oldest byte that is kept, and down to the end. Default: the end. */
  offset?: number | undefined;
  /** Where to begin by kind, instead of `offset`: how many bytes of each the reader has. */
  resumeFrom?: OutputOffsets | undefined;
  /** How long the process may be held back for this reader after it has gone, so that it finds all when it comes back: 30 s at most. */
  holdMs?: number | undefined;
}

/** A subscriber was dropped because it did not keep up. */
export class SlowReaderError extends Error {}

/** A reader asked for output that is no longer kept. */
export class LostOutputError extends Error {}

/** The output of a process and its readers, while it runs and for a while after its end. */
export interface ProcessOutput {
  /** Whether it has had readers and has none now, nor one that may come back. */
  readonly isUnread: boolean;
  /** Ignored after the end. */
  write(kind: OutputKind, bytes: Uint8Array): void;
  end(status: ExitStatus): void;
  /** Throws `LostOutputError`, or `invalid_argument` when `resumeFrom` is behind what was written. */
  subscribe(options?: SubscribeOptions): Subscription;
  /** No more subscriptions follow: the memory is freed with the last reader. */
  forget(): void;
}

export interface ProcessOutputOptions {
  budget: OutputBudget;
  /** Asks the process to wait, or to go on. */
  onHold: (isHeldBack: boolean) => void;
  /** How long a process waits for its only readers before they are dropped. */
  stallMs?: number;
}

interface Reader {
  cursor: number;
  readonly holdMs: number;
  /** The timer of the wait for this reader, or `spent` when that wait has failed. */
  grace: NodeJS.Timeout | 'spent' | undefined;
  fail(error: Error): void;
  wake(): void;
}

const OUTPUT_KINDS = ['stdout', 'stderr', 'pty'] as const satisfies readonly OutputKind[];

/** A reader that is this many bytes behind is full. The process waits while all its readers are full. */
const FULL_BYTES = 256 * 1024;
/**
 * The size limit of the journal. A reader that needs older bytes is dropped: the others continued to read, so the process
 * was not paused. A larger journal costs more than its bytes: long-lived data enlarges the heap, which slows output by a fifth.
 */
const MAX_JOURNAL_BYTES = 2 * 1024 * 1024;
/** The journal while a reader may reconnect: it then lacks what was in flight, several megabytes. */
const MAX_HELD_JOURNAL_BYTES = 8 * 1024 * 1024;
/** Both limits while all processes together need more than the budget. */
const TIGHT_FULL_BYTES = 64 * 1024;
const TIGHT_JOURNAL_BYTES = 256 * 1024;
const STALL_MS = 60_000;
/**
 * How long the process waits for one reader that is about to lose output: its delay may be short. A reader that has not caught up by
 * then is not waited for again: among others, a reader either takes several megabytes a second or is dropped.
 */
const GRACE_MS = 500;
/** How long the beginning of a character waits for its rest, which is on its way when a program writes through a buffer. */
const CHARACTER_MS = 30;
/** The longest that a process is held back for a reader that has gone. */
const MAX_HOLD_MS = 30_000;

/**
 * All readers share one bounded journal, each with a place of its own in it, so that memory does not grow with their number
 * and none waits for a slower one, except briefly before the slower one is dropped. Without a reader the process never waits, and
 * only its latest output is kept.
 */
export const createProcessOutput = (options: ProcessOutputOptions): ProcessOutput => {
  const { budget, onHold, stallMs = STALL_MS } = options;
  const journal = createOutputJournal();
  const readers = new Set<Reader>();
  /** Readers that have disconnected and may reconnect, with the timer that ends the wait for them. */
  const expected = new Map<Reader, NodeJS.Timeout>();
  let status: ExitStatus | undefined;
  let isForgotten = false;
  let hasHadReader = false;
  let isHeldBack = false;
  let stall: NodeJS.Timeout | undefined;
  let chargedBytes = 0;

  const charge = (): void => {
    const delta = journal.costBytes - chargedBytes;
    chargedBytes += delta;
    budget.change(delta);
  };
  const leave = (reader: Reader): void => {
    clearTimeout(expected.get(reader));
    expected.delete(reader);
    readers.delete(reader);
  };
  const drop = (isSlow: (reader: Reader) => boolean): void => {
    for (const reader of readers) {
      if (!isSlow(reader)) continue;
      leave(reader);
      reader.fail(new SlowReaderError('the reader was too slow and was disconnected; the process continues'));
    }
  };
  const free = (): void => {
    journal.dropBefore(Math.min(journal.end, ...[...readers].map(({ cursor }) => cursor)));
    charge();
  };
  const holder: OutputHolder = {
    get costBytes() {
      return chargedBytes;
    },
    free,
    abandon() {
      drop(() => true);
      free();
    },
  };
  budget.addLive(holder);

  const fullBytes = (): number => (budget.isTight ? TIGHT_FULL_BYTES : FULL_BYTES);
  const isFull = ({ cursor }: Reader): boolean => journal.end - cursor >= fullBytes();
  const areAllFull = (): boolean => readers.size > 0 && [...readers].every(isFull);
  const limit = (): number => {
    // When all readers are behind, the process waits for them. It does not wait for one reader among others that keep up.
    if (budget.isTight && !areAllFull()) return TIGHT_JOURNAL_BYTES;
    for (const { holdMs } of readers) if (holdMs > 0) return MAX_HELD_JOURNAL_BYTES;
    return MAX_JOURNAL_BYTES;
  };
  const balance = (): void => {
    const isWaitedFor = (reader: Reader): boolean => typeof reader.grace === 'object' && isFull(reader);
    const holdBack = status === undefined && (areAllFull() || [...readers].some(isWaitedFor));
    if (holdBack === isHeldBack) return;
    isHeldBack = holdBack;
    clearTimeout(stall);
    onHold(holdBack);
    if (!holdBack) return;
    stall = setTimeout(() => {
      drop(isFull);
      balance();
    }, stallMs);
  };
  const waitFor = (reader: Reader): void => {
    reader.grace = setTimeout(() => {
      // When all readers are behind, the process waits for all of them, and the wait for this one has not failed.
      reader.grace = areAllFull() ? undefined : 'spent';
      balance();
    }, GRACE_MS).unref();
  };
  const catchUp = (reader: Reader): void => {
    if (typeof reader.grace === 'object') clearTimeout(reader.grace);
    reader.grace = undefined;
  };
  const releaseIfUnused = (): void => {
    if (!isForgotten || readers.size > 0) return;
    journal.dropBefore(journal.end);
    charge();
    budget.remove(holder);
  };

  /** Where a reader that has these bytes has to begin: with the first byte that it lacks. */
  const findFirst = (positions: OutputOffsets): number => {
    const written = journal.positionsAt(journal.end);
    const offsets = OUTPUT_KINDS.map((kind) => {
      const [wanted, limitBytes] = [positions[kind], written[kind]];
      if (wanted > limitBytes)
        throw invalid(
          `resume_from.${kind} is ${wanted}, but the process has written ${limitBytes} bytes to it`,
        );
      const offset = journal.find(kind, wanted);
      if (offset !== undefined) return offset;
      const oldest = journal.positionsAt(journal.start)[kind];
      throw new LostOutputError(
        `resume_from.${kind} is ${wanted}, but only output from ${oldest} on is kept; attach without resume_from`,
      );
    });
    return Math.min(...offsets);
  };

  return {
    get isUnread() {
      return hasHadReader && readers.size === 0;
    },
    write(kind, bytes) {
      if (status !== undefined) return;
      journal.append(kind, bytes);
      const maxBytes = limit();
      while (journal.costBytes > maxBytes) journal.dropOldest();
      drop(({ cursor }) => cursor < journal.start);
      charge();
      const lateBytes = maxBytes - fullBytes();
      for (const reader of readers) {
        reader.wake();
        if (reader.grace === undefined && journal.end - reader.cursor >= lateBytes) waitFor(reader);
      }
      balance();
    },
    end(last) {
      status = last;
      for (const reader of expected.keys()) leave(reader);
      for (const reader of readers) reader.wake();
      budget.markEnded(holder);
      balance();
    },
    subscribe({ offset: given, resumeFrom, holdMs: asked = 0 } = {}) {
      const holdMs = Math.min(asked, MAX_HOLD_MS);
      const offset = resumeFrom === undefined ? given : findFirst(resumeFrom);
      const wanted = offset ?? journal.end;
      // A reader that names an offset is the one that the process waited for.
      if (offset !== undefined && offset <= journal.end) for (const gone of expected.keys()) leave(gone);
      let failure: Error | undefined;
      let isEndTaken = false;
      /** The lender of the piece that was taken last, which stays lent when the reader leaves: it may not have been written out yet. */
      let lender: Lender | undefined;
      /** Where the rest of a character did not come in time. */
      let overdueAt: number | undefined;
      let wake: (() => void) | undefined;
      const reader: Reader = {
        cursor: Math.min(Math.max(wanted, journal.start), journal.end),
        holdMs,
        grace: undefined,
        fail(error) {
          failure ??= error;
          reader.wake();
        },
        wake() {
          wake?.();
          wake = undefined;
        },
      };
      readers.add(reader);
      hasHadReader = true;
      balance();
      return {
        offset: reader.cursor,
        positions: resumeFrom ?? journal.positionsAt(reader.cursor),
        async take() {
          for (;;) {
            if (failure !== undefined) throw failure;
            const piece = journal.read(reader.cursor);
            const knownBytes = piece && resumeFrom ? resumeFrom[piece.kind] - piece.position : 0;
            if (piece !== undefined && knownBytes > 0) {
              reader.cursor += Math.min(knownBytes, piece.bytes.length);
              if (isHeldBack) balance();
              continue;
            }
            const isAwaited = piece?.isBegun === true && status === undefined && overdueAt !== journal.end;
            if (piece !== undefined && !isAwaited) {
              reader.cursor += piece.bytes.length;
              noteDelivered(piece.bytes.length);
              // The piece before has been written out by now.
              if (lender !== undefined) lender.borrowerCount -= 1;
              lender = piece.lender;
              lender.borrowerCount += 1;
              if (reader.grace !== undefined && !isFull(reader)) catchUp(reader);
              if (isHeldBack) balance();
              return { case: piece.kind, value: piece.bytes, position: piece.position };
            }
            let timer: NodeJS.Timeout | undefined;
            if (isAwaited) {
              timer = setTimeout(() => {
                overdueAt = journal.end;
                reader.wake();
              }, CHARACTER_MS);
            } else if (status !== undefined) {
              if (isEndTaken) return undefined;
              isEndTaken = true;
              return { case: 'end', value: status };
            }
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
            clearTimeout(timer);
          }
        },
        discard: reader.fail,
        unsubscribe() {
          if (!readers.has(reader) || expected.has(reader)) return;
          if (status === undefined && holdMs > 0) {
            const giveUp = (): void => {
              leave(reader);
              balance();
            };
            expected.set(reader, setTimeout(giveUp, holdMs).unref());
            return;
          }
          leave(reader);
          balance();
          releaseIfUnused();
        },
      };
    },
    forget() {
      isForgotten = true;
      releaseIfUnused();
    },
  };
};
