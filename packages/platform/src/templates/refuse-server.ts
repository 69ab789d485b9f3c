import { listListening } from '../agent-commands/listening-ports.ts';
import type { SandboxRunner } from '../agent-commands/run-in-sandbox.ts';
import { type Clock, passTime } from '../clock.ts';

/** Shares of the time limit of a build: a silent server is reported after the first, and ended after the second. */
const REPORT_SHARE = 1 / 60;
const END_SHARE = 1 / 4;

export interface RefuseServerOptions {
  runner: Pick<SandboxRunner, 'readText'>;
  clock: Pick<Clock, 'after' | 'elapsed'>;
  /** The longest time that the build may take. */
  buildTimeoutMs: number;
  /** Called at most once: the command looks like a server. */
  onServer: (port: number) => void;
  /** What the command then fails with. */
  toError: (port: number) => Error;
  signal: AbortSignal;
}

/**
 * Runs a command that has to end, and resolves with its result. A command looks like a server while it writes nothing and
 * something in its sandbox listens on a TCP port that had no listener before it. One that does so for a quarter of
 * the build's time is aborted; this rejects with `toError` then, and otherwise as `work` does. `work` calls `onOutput`
 * with each piece of output.
 */
export const refuseServer = async <T>(
  work: (options: { onOutput: () => void; signal: AbortSignal }) => Promise<T>,
  { runner, clock, buildTimeoutMs, onServer, toError, signal }: RefuseServerOptions,
): Promise<T> => {
  const before = new Set(await listListening(runner, signal));
  const ended = new AbortController();
  const refused = new AbortController();
  let lastOutputMs = clock.elapsed();
  const watch = async (): Promise<void> => {
    const over = AbortSignal.any([signal, ended.signal]);
    for (let isReported = false; ; ) {
      await passTime(clock, buildTimeoutMs * REPORT_SHARE, over);
      if (over.aborted) return;
      const silentMs = clock.elapsed() - lastOutputMs;
      if (silentMs < buildTimeoutMs * REPORT_SHARE) continue;
      const port = (await listListening(runner, over)).find((one) => !before.has(one));
      if (port === undefined || over.aborted) continue;
      if (!isReported) onServer(port);
      isReported = true;
      if (silentMs >= buildTimeoutMs * END_SHARE) refused.abort(toError(port));
    }
  };
  const watching = watch();
  try {
    return await work({
      onOutput: () => {
        lastOutputMs = clock.elapsed();
      },
      signal: AbortSignal.any([signal, refused.signal]),
    });
  } finally {
    ended.abort();
    await watching;
  }
};
