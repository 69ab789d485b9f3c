import { type Clock, passTime } from '../clock.ts';
import type { SandboxRunner } from './run-in-sandbox.ts';

/** The state of a socket that listens, in proc(5) /proc/net/tcp. */
const LISTEN = '0A';
const RETRY_MS = 200;

/** The TCP ports on which something in the sandbox listens; none of a sandbox that cannot be asked. */
export const listListening = async (
  runner: Pick<SandboxRunner, 'readText'>,
  signal: AbortSignal,
): Promise<number[]> => {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((path) =>
      // A sandbox that cannot be asked fails the command itself; not every kernel has the second.
      runner.readText(path, { signal }).catch(() => ''),
    ),
  );
  return tables.flatMap((table) =>
    table
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state]) => state === LISTEN)
      .map(([, local]) => Number.parseInt(local?.split(':').at(-1) ?? '', 16)),
  );
};

/**
 * Resolves when something in the sandbox listens on each of these TCP ports, or after `withinMs`: with the ports on which nothing does
 * then. Rejects with the reason of `signal`.
 */
export const waitForListening = async (
  ports: readonly number[],
  options: {
    runner: Pick<SandboxRunner, 'readText'>;
    clock: Pick<Clock, 'after' | 'elapsed'>;
    withinMs: number;
    signal: AbortSignal;
  },
): Promise<number[]> => {
  const { runner, clock, withinMs, signal } = options;
  const endsAtMs = clock.elapsed() + withinMs;
  for (;;) {
    const listening = new Set(await listListening(runner, signal));
    signal.throwIfAborted();
    const missing = ports.filter((port) => !listening.has(port));
    const leftMs = endsAtMs - clock.elapsed();
    if (missing.length === 0 || leftMs <= 0) return missing;
    await passTime(clock, Math.min(RETRY_MS, leftMs), signal);
  }
};
