import { readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../../error.ts';
import { signalProcess } from '../../../kernel/signal-process.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';

const KILL_MS = 10_000;

/**
 * Ends the members of these cgroups and the processes that have one of the pipes open, by SIGKILL, until there is none,
 * and resolves with their number. Rejects with `internal` when some are left after 10 s.
 */
export const endRemaining = async (options: {
  cgroups: readonly Cgroup[];
  pipes: readonly string[];
}): Promise<number> => {
  const killed = new Set<number>();
  for (const deadline = Date.now() + KILL_MS; ; await sleep(20)) {
    let isOver = true;
    for (const cgroup of options.cgroups) {
      for (const pid of await cgroup.members()) killed.add(pid);
      if (await cgroup.kill()) isOver = false;
    }
    for (const pid of findHolders(new Set(options.pipes))) {
      killed.add(pid);
      signalProcess(pid, 'SIGKILL');
      isOver = false;
    }
    if (isOver) return killed.size;
    if (Date.now() > deadline)
      throw new RuntimeError(
        'internal',
        `processes do not end: ${[...killed].join(' ')}; "ps -o pid,stat,wchan,args" shows what they wait for`,
      );
  }
};

/** The processes, without this one, that have a file open under one of these names. */
const findHolders = (paths: ReadonlySet<string>): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && listOpen(pid).some((path) => paths.has(path)));

const listOpen = (pid: number): string[] => {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => readTarget(`/proc/${pid}/fd/${fd}`));
  } catch {
    return []; // The process has ended, or this one may not read it.
  }
};

const readTarget = (path: string): string[] => {
  try {
    return [readlinkSync(path)];
  } catch {
    return []; // It was closed.
  }
};
