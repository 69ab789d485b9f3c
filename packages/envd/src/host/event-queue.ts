import { setMaxListeners } from 'node:events';

/** The events that one subscriber has not taken yet. */
export interface EventQueue<T> {
  readonly sizeBytes: number;
  readonly isClosed: boolean;
  push(event: T, sizeBytes: number): void;
  /** Ends the queue after what it holds; the reader then gets `error`, or a clean end. Later pushes are dropped. */
  close(error?: Error): void;
  /** Ends the queue at once and drops what it holds. */
  discard(error: Error): void;
  /** Takes the next event. Undefined at the end. Only one call may wait at a time. */
  take(): Promise<T | undefined>;
}

export const createEventQueue = <T>(): EventQueue<T> => {
  let entries: { event: T; sizeBytes: number }[] = [];
  let next = 0;
  let sizeBytes = 0;
  let closed: { error: Error | undefined } | undefined;
  let wake: (() => void) | undefined;
  const signal = (): void => {
    const waiting = wake;
    wake = undefined;
    waiting?.();
  };
  return {
    get sizeBytes() {
      return sizeBytes;
    },
    get isClosed() {
      return closed !== undefined;
    },
    push(event, size) {
      if (closed !== undefined) return;
      entries.push({ event, sizeBytes: size });
      sizeBytes += size;
      signal();
    },
    close(error) {
      closed ??= { error };
      signal();
    },
    discard(error) {
      entries = [];
      next = 0;
      sizeBytes = 0;
      closed = { error };
      signal();
    },
    async take() {
      for (;;) {
        const entry = entries[next];
        if (entry !== undefined) {
          next += 1;
          // Moving the rest forward on each take would cost the square of a long queue.
          if (next > 1024 || next === entries.length) {
            entries = entries.slice(next);
            next = 0;
          }
          sizeBytes -= entry.sizeBytes;
          return entry.event;
        }
        if (closed?.error !== undefined) throw closed.error;
        if (closed !== undefined) return undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
};

/** Stands for silence in a followed queue. */
export const SILENCE: unique symbol = Symbol('silence');

/**
 * Yields what a queue delivers, and `SILENCE` whenever `keepaliveMs` pass without an event. Ends when the queue ends or the
 * signal aborts; throws the signal's reason if that is an error other than the caller's going away.
 */
export async function* follow<T>(
  queue: Pick<EventQueue<T>, 'take' | 'discard'>,
  { signal, keepaliveMs }: { signal: AbortSignal; keepaliveMs: number },
): AsyncGenerator<T | typeof SILENCE> {
  setMaxListeners(0, signal);
  let onSilence: (() => void) | undefined;
  const timer = setTimeout(() => onSilence?.(), keepaliveMs);
  const onAbort = (): void => queue.discard(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  let taking = queue.take();
  try {
    for (;;) {
      const silence = new Promise<typeof SILENCE>((resolve) => {
        onSilence = () => resolve(SILENCE);
      });
      const event = await Promise.race([taking, silence]);
      timer.refresh();
      if (event === undefined) return;
      yield event;
      if (event !== SILENCE) taking = queue.take();
    }
  } finally {
    clearTimeout(timer);
    // A reader that stops early leaves a pending take; this marks its rejection as handled.
    taking.catch(() => undefined);
    signal.removeEventListener('abort', onAbort);
  }
}
