import { readFile } from 'node:fs/promises';
import { runCommand } from '../kernel/run-command.ts';
import type { Program } from '../kernel/start-program.ts';
import { attachNetwork, detachNetwork } from '../network/attach.ts';
import { hasDocker } from '../network/docker-user.ts';
import { removeHostNetwork } from '../network/host.ts';
import { runRules } from '../network/nftables.ts';
import { OPEN_NETWORK } from '../network/policy.ts';
import { openProbePeer } from '../network/probe-peer.ts';
import { releaseSlot, reserveSlot } from '../network/slots.ts';
import { startInNetworkNamespace } from '../network/start-in-network-namespace.ts';
import { type ProbeResult, probe } from '../probe.ts';
import { findFirewall } from './find-firewall.ts';

/**
 * Sends packets as from a sandbox through this host, to a listener behind a link of its own, and reports the firewall
 * that drops them. Does not try whether the internet is behind the host's uplink.
 */
export async function probeForwarding(options: { dir: string; stateDir?: string }): Promise<ProbeResult> {
  const chains = await runRules('list chains').catch(() => '');
  const legacyTables = await readFile('/proc/net/ip_tables_names', 'utf8').catch(() => '');
  const firewall = findFirewall({ chains, legacyTables });
  const mend =
    firewall?.mend ?? 'let the firewall of this host forward what comes from skv* and what answers it';
  const about = { name: 'forwarding', needed: false, mend };
  return probe(about, async () => {
    if (await reaches(options)) {
      const docker = (await hasDocker()) ? '; rules of yours in DOCKER-USER come after two of skerry' : '';
      return `what a sandbox sends is forwarded, and answered${docker}`;
    }
    const by = firewall ? ` by ${firewall.name}` : '';
    throw new Error(`what a sandbox sends is dropped${by} on its way through this host`);
  });
}

const dial = (host: string, port: number): string =>
  `const socket = require('node:net').connect({ host: '${host}', port: ${port} });
  socket.setTimeout(3000, () => socket.destroy()).on('error', () => {}).on('data', () => console.log('answered'));`;

async function reaches({ dir, stateDir }: { dir: string; stateDir?: string }): Promise<boolean> {
  const owner = { dataDir: dir, id: 'forwarding', stateDir };
  const slot = await reserveSlot(owner);
  let program: Program | undefined;
  try {
    program = await startInNetworkNamespace();
    const far = await openProbePeer(slot);
    try {
      const { pid } = program;
      await attachNetwork({ pid, slot, policy: OPEN_NETWORK, stateDir, openAddress: far.address });
      const args = [`--target=${pid}`, '--net', process.execPath, '-e', dial(far.address, far.port)];
      return (await runCommand({ file: 'nsenter', args })).includes('answered');
    } finally {
      far.close();
    }
  } finally {
    program?.kill();
    await detachNetwork({ slot });
    await releaseSlot({ ...owner, slot });
    await removeHostNetwork({ stateDir });
  }
}
