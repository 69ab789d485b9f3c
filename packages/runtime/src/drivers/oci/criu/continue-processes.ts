import type { PacketStop } from '../../../network/packet-stop.ts';
import type { Cgroup } from '../cgroup/cgroup.ts';
import { endRepair } from './sockets/end-repair.ts';

/**
 * Continues processes after a dump by CRIU, wherever that ended: it may have released them or not, and been killed.
 * Ends `packets`, the stop of their network. `reusing` is as for `endRepair`. Rejects with `unavailable` when they
 * cannot be frozen once more for that; they run then, with what is left of their connections.
 */
export const continueProcesses = async (
  cgroup: Cgroup,
  { reusing, packets }: { reusing: string; packets?: PacketStop | undefined },
): Promise<void> => {
  try {
    await endRepair(cgroup, { reusing });
  } finally {
    await packets?.end();
    // CRIU leaves dumped processes stopped.
    await cgroup.signal('SIGCONT');
    await cgroup.thaw();
  }
};
