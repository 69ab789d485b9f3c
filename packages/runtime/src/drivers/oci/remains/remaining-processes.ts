import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../../error.ts';
import { signalProcess } from '../../../kernel/signal-process.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';
import { listPipeHolders } from '../container/pipe-holders.ts';

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
    for (const pid of listPipeHolders(options.pipes)) {
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
