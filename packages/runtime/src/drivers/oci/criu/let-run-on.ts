import type { PacketStop } from '../../../network/packet-stop.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';
import { endRepair } from './sockets/end-repair.ts';

/**
 * Lets processes run on that CRIU has worked on, wherever it ended: it may have let go of them or not, and been
 * killed. Ends `packets`, the stop of their network. `reusing` is as for `endRepair`. Rejects with `unavailable` when
 * they cannot be held once more for that; they run on then, with what is left of their connections.
 */
export const letRunOn = async (
  cgroup: Cgroup,
  { reusing, packets }: { reusing: string; packets?: PacketStop | undefined },
): Promise<void> => {
  try {
    await endRepair(cgroup, { reusing });
  } finally {
    await packets?.end();
    // What was written down is stopped.
    await cgroup.signal('SIGCONT');
    await cgroup.thaw();
  }
};
