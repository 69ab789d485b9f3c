import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { attachNetwork, detachNetwork } from '../network/attach.ts';
import { removeHostNetwork } from '../network/host.ts';
import { runRules } from '../network/nftables.ts';
import { hostInterface, type Surroundings } from '../network/rules.ts';
import { releaseSlot, reserveSlot } from '../network/slots.ts';
import { aptInstall, type ProbeResult, probe } from './probe.ts';

/** Gives a network namespace the link and the rules of a sandbox, and takes them away again. */
export const probeNetwork = (options: {
  dir: string;
  stateDir?: string;
  surroundings?: Partial<Surroundings>;
}): Promise<ProbeResult> =>
  probe({ name: 'network', needed: true, mend: aptInstall('libnftables1') }, async () => {
    const { dir, stateDir, surroundings } = options;
    const owner = { dataDir: dir, id: 'probe', stateDir };
    const slot = await reserveSlot(owner);
    const child = spawn('unshare', ['--net', 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
    try {
      const failed = once(child, 'exit').then(() => Promise.reject(new Error('unshare --net failed')));
      child.stdin.on('error', () => undefined).write('\n');
      await Promise.race([once(child.stdout, 'data'), failed]);
      const start = performance.now();
      await attachNetwork({ pid: child.pid as number, slot, internet: true, stateDir, ...surroundings });
      const tookMs = Math.round(performance.now() - start);
      return `a link with its rules is made in ${tookMs} ms${await describeFirewall()}`;
    } finally {
      child.kill('SIGKILL');
      await detachNetwork({ slot });
      await releaseSlot({ ...owner, slot });
      await removeHostNetwork({ stateDir });
    }
  });

/** Says when another firewall of this host drops what is forwarded unless it is allowed: sandboxes then have no way out. */
async function describeFirewall(): Promise<string> {
  const listing = await runRules('list chains');
  const dropsForwarded = /hook forward priority [^;]+; policy drop/.test(listing);
  return dropsForwarded
    ? `; another firewall drops forwarded packets: allow those of ${hostInterface(0).replace('0', '*')} there`
    : '';
}
