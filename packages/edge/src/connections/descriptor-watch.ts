import { readdirSync, readFileSync } from 'node:fs';

/** How many files and sockets this process may have open. */
export const readDescriptorLimit = (): number => {
  const [, soft = ''] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft);
};

const countDescriptors = (): number => readdirSync('/proc/self/fd').length;

const INTERVAL_MS = 5_000;
const QUIET_MS = 60_000;

/**
 * Logs when hardly a descriptor is left: Node then closes new connections by itself and reports it nowhere (EMFILE). The result ends
 * that.
 */
export const watchDescriptors = ({
  limit,
  log,
  count = countDescriptors,
  intervalMs = INTERVAL_MS,
}: {
  limit: number;
  log: { warn(message: string, fields?: Record<string, unknown>): void };
  count?: () => number;
  intervalMs?: number;
}): (() => void) => {
  let quietUntil = Number.NEGATIVE_INFINITY;
  const look = (): void => {
    if (performance.now() < quietUntil) return;
    let open = limit;
    try {
      open = count();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
    }
    if (open < limit * 0.95) return;
    quietUntil = performance.now() + QUIET_MS;
    log.warn('too many open files (EMFILE): connections and calls fail until some are closed', {
      open,
      limit,
    });
  };
  const timer = setInterval(look, intervalMs).unref();
  return () => clearInterval(timer);
};
