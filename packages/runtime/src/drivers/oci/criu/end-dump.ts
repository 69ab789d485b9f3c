import { readdir, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { signalProcess } from '../../../kernel/signal-process.ts';
import { adoptLivenessPipe } from '../container/liveness-pipe.ts';

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
    for (const pid of await findHolders(dumpPipe)) signalProcess(pid, 'SIGKILL');
    await hasEnded(KILL_DEADLINE_MS);
  } finally {
    line.close();
  }
};

/** Every other process that has the file open. */
const findHolders = async (path: string): Promise<number[]> => {
  const { dev, ino } = await stat(path);
  const holds = async (pid: number): Promise<boolean> => {
    const folder = `/proc/${pid}/fd`;
    // A process or a descriptor may have disappeared.
    const names = await readdir(folder).catch(() => []);
    const files = await Promise.all(names.map((name) => stat(`${folder}/${name}`).catch(() => undefined)));
    return files.some((file) => file?.dev === dev && file.ino === ino);
  };
  const holders: number[] = [];
  for (const pid of (await readdir('/proc')).map(Number).filter((id) => id > 0 && id !== process.pid)) {
    if (await holds(pid)) holders.push(pid);
  }
  return holders;
};
