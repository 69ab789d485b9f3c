import type { EventEmitter } from 'node:events';
import type { Log } from '@skerry/platform';

/** What a server is answering now. */
export interface InFlight {
  /** Counts an answer, or the connection of an upgraded one, until its `close`. */
  begin(answer: Pick<EventEmitter, 'once'>): void;
  readonly count: number;
  /** Resolves when nothing is counted. */
  none(): Promise<void>;
}

export function createInFlight(): InFlight {
  let count = 0;
  let waiting: (() => void)[] = [];
  return {
    begin: (answer) => {
      count += 1;
      answer.once('close', () => {
        count -= 1;
        if (count > 0) return;
        for (const resolve of waiting) resolve();
        waiting = [];
      });
    },
    get count() {
      return count;
    },
    none: () => (count === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  };
}

/** Resolves when nothing is in flight and no build in progress, after that time, or when the signal aborts. */
export async function passDraining({
  inFlight,
  settleBuilds,
  ms,
  log,
  signal,
}: {
  inFlight: InFlight;
  /** Resolves when no build is in progress. */
  settleBuilds: () => Promise<void>;
  ms: number;
  log: Pick<Log, 'info' | 'warn'>;
  signal: AbortSignal;
}): Promise<void> {
  let isIdle = false;
  const settle = async (): Promise<void> => {
    do {
      await inFlight.none();
      // A request may have begun one.
      await settleBuilds();
    } while (inFlight.count > 0);
    isIdle = true;
  };
  const settled = settle().catch((error: unknown) =>
    log.warn('the builds in progress are unknown, and the server does not wait for them', { error }),
  );
  await new Promise((resolve) => setImmediate(resolve));
  if (isIdle || ms === 0) return;
  log.info('the server drains before it ends: a second signal ends it at once', {
    inFlight: inFlight.count,
    atMostSeconds: ms / 1_000,
  });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const timer = setTimeout(end, ms);
  signal.addEventListener('abort', () => end(), { once: true });
  if (signal.aborted) end();
  await Promise.race([ended, settled]);
  clearTimeout(timer);
  if (!isIdle) log.warn('what is in progress ends now', { inFlight: inFlight.count });
}
