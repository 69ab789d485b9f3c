import { setTimeout as sleep } from 'node:timers/promises';
import { signalProcess } from '../../../kernel/signal-process.ts';
import { adoptLivenessPipe } from '../container/liveness-pipe.ts';
import { listPipeHolders } from '../container/pipe-holders.ts';

const KILL_DEADLINE_MS = 5_000;

/**
 * Resolves when no process holds the pipe of a dump any more. At the deadline the remaining ones are killed, and
 * ignored when even that does not end them: a caller that waits here holds up every other sandbox.
 */
export const endDump = async (dumpPipe: string, { deadlineMs }: { deadlineMs: number }): Promise<void> => {
  const line = adoptLivenessPipe(dumpPipe);
  if (line === undefined) return;
  const hasEnded = async (withinMs: number): Promise<boolean> => {
    const abort = new AbortController();
    // Aborted as soon as no caller waits any more.
    const late = sleep(withinMs, undefined, { signal: abort.signal }).catch(() => undefined);
    await Promise.race([line.ended, late]);
    abort.abort();
    return line.isEnded();
  };
  try {
    if (await hasEnded(deadlineMs)) return;
    for (const pid of listPipeHolders([dumpPipe])) signalProcess(pid, 'SIGKILL');
    await hasEnded(KILL_DEADLINE_MS);
  } finally {
    line.close();
  }
};
