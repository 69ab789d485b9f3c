import type { Cgroup } from './cgroup.ts';
import { endRepair } from './end-repair.ts';

/**
 * Lets processes run on that CRIU has worked on, wherever it ended: it may have let go of them or not, and been killed. Rejects
 * with `unavailable` when they cannot be held once more for that; they run on then, with what is left of their connections.
 */
export const letRunOn = async (cgroup: Cgroup): Promise<void> => {
  try {
    await endRepair(cgroup);
  } finally {
    // What was written down is stopped.
    await cgroup.signal('SIGCONT');
    await cgroup.thaw();
  }
};
