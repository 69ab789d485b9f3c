import type { Program } from '../kernel/start-program.ts';
import { aptInstall, type ProbeResult, probe } from '../probe.ts';
import { attachNetwork, detachNetwork } from './attach.ts';
import { removeHostNetwork } from './host.ts';
import { openRuleSet } from './nftables.ts';
import { OPEN_NETWORK } from './policy.ts';
import type { Surroundings } from './rules.ts';
import { releaseSlot, reserveSlot } from './slots.ts';
import { startInNetworkNamespace } from './start-in-network-namespace.ts';

/** Sets up the link and the rules of a sandbox in a network namespace, and removes them again. */
export const probeNetwork = (options: {
  dir: string;
  stateDir?: string;
  surroundings?: Partial<Surroundings>;
}): Promise<ProbeResult> =>
  probe({ name: 'network', needed: true, mend: toMend() }, async () => {
    const { dir, stateDir, surroundings } = options;
    const owner = { dataDir: dir, id: 'probe', stateDir };
    const slot = await reserveSlot(owner);
    let program: Program | undefined;
    try {
      program = await startInNetworkNamespace();
      const start = performance.now();
      await attachNetwork({ pid: program.pid, slot, policy: OPEN_NETWORK, stateDir, ...surroundings });
      const tookMs = Math.round(performance.now() - start);
      return `a link with its rules is made in ${tookMs} ms`;
    } finally {
      program?.kill();
      await detachNetwork({ slot });
      await releaseSlot({ ...owner, slot });
      await removeHostNetwork({ stateDir });
    }
  });

/** A kernel without these as modules has them built in, or lacks them. */
const modules =
  'nf_tables nft_ct nft_masq nft_redir nft_fib_inet nft_reject_inet nft_connlimit nft_socket veth';

function toMend(): string {
  try {
    openRuleSet().close();
    return `modprobe -a ${modules}`;
  } catch {
    // The probe itself reports the failure.
    return aptInstall('libnftables1');
  }
}
