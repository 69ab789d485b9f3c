import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../../../error.ts';
import { toSandboxFolder } from '../folder.ts';
import type { OciHost } from '../host.ts';
import { adoptLivenessPipe } from './liveness-pipe.ts';

const KILL_DEADLINE_MS = 10_000;

/**
 * Kills until no process is left. Two conditions must hold: the cgroup has no member, and the liveness pipe has ended.
 * An OCI runtime that outlived its parent holds the pipe while there is no cgroup yet.
 */
export const endProcesses = async (host: OciHost, id: string): Promise<void> => {
  const cgroup = host.cgroup(id);
  const line = adoptLivenessPipe(toSandboxFolder(host.dataDir, id).livenessPipe);
  const deadline = Date.now() + KILL_DEADLINE_MS;
  try {
    for (;;) {
      const hadMembers = await cgroup.kill();
      const isOver = line === undefined || line.isEnded();
      if (!hadMembers && isOver) return;
      if (Date.now() > deadline) throw new RuntimeError('internal', `sandbox ${id} does not end`);
      await (isOver ? sleep(2) : Promise.race([line.ended, sleep(20)]));
    }
  } finally {
    line?.close();
  }
};
