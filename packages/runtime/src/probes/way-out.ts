import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { runCommand } from '../kernel/run-command.ts';
import { attachNetwork, detachNetwork } from '../network/attach.ts';
import { hasDocker } from '../network/docker-user.ts';
import { openFarEnd } from '../network/far-end.ts';
import { removeHostNetwork } from '../network/host.ts';
import { runRules } from '../network/nftables.ts';
import { releaseSlot, reserveSlot } from '../network/slots.ts';
import { findFirewall } from './find-firewall.ts';
import { type ProbeResult, probe } from './probe.ts';

/**
 * Sends from where a sandbox is through this host, to a listener behind a link of its own, and says which firewall drops
 * that. Whether the internet is behind the host's uplink is not tried.
 */
export async function probeWayOut(options: { dir: string; stateDir?: string }): Promise<ProbeResult> {
  const chains = await runRules('list chains').catch(() => '');
  const legacyTables = await readFile('/proc/net/ip_tables_names', 'utf8').catch(() => '');
  const firewall = findFirewall({ chains, legacyTables });
  const mend =
    firewall?.mend ?? 'let the firewall of this host forward what comes from skv* and what answers it';
  const about = { name: 'way out', needed: false, mend };
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
  const owner = { dataDir: dir, id: 'wayout', stateDir };
  const slot = await reserveSlot(owner);
  const child = spawn('unshare', ['--net', 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    const failed = once(child, 'exit').then(() => Promise.reject(new Error('unshare --net failed')));
    child.stdin.on('error', () => undefined).write('\n');
    await Promise.race([once(child.stdout, 'data'), failed]);
    const far = await openFarEnd(slot);
    try {
      await attachNetwork({ pid: child.pid as number, slot, internet: true, stateDir });
      const args = [`--target=${child.pid}`, '--net', process.execPath, '-e', dial(far.address, far.port)];
      return (await runCommand({ file: 'nsenter', args })).includes('answered');
    } finally {
      far.close();
    }
  } finally {
    child.kill('SIGKILL');
    await detachNetwork({ slot });
    await releaseSlot({ ...owner, slot });
    await removeHostNetwork({ stateDir });
  }
}
