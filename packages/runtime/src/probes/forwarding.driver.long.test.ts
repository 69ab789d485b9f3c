import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../kernel/run-command.ts';
import type { ProbeResult } from '../probe.ts';

interface Report {
  probes: Record<'open' | 'closed' | 'mended' | 'firewalld' | 'iptables' | 'withDocker', ProbeResult>;
  chains: Record<'afterProbe' | 'whileUsed' | 'afterRestart' | 'afterDown', string>;
  links: string;
}

let dir: string;
let report: Report;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'forwarding-'));
  const lab = fileURLToPath(new URL('./testing/forwarding-lab.ts', import.meta.url));
  const args = ['--net', process.execPath, lab, dir];
  report = JSON.parse(await runCommand({ file: 'unshare', args, timeoutMs: 90_000 })) as Report;
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const dropped = /^what a sandbox sends is dropped by (.+) on its way through this host$/;

describe('the probe of forwarding', () => {
  it('succeeds where there is no other firewall', () => {
    const found = 'what a sandbox sends is forwarded, and answered';
    expect(report.probes.open).toMatchObject({ ok: true, needed: false, found });
  });

  it('fails where a table drops packets, and succeeds once the printed line was run', () => {
    expect(report.probes.closed).toMatchObject({ ok: false, needed: false });
    expect(dropped.exec(report.probes.closed.found)?.[1]).toBe('the chain inet own passing');
    expect(report.probes.closed.mend).toBe(
      `nft 'insert rule inet own passing iifname "skv*" accept' && nft 'insert rule inet own passing oifname "skv*" ct state established,related accept'`,
    );
    expect(report.probes.mended.ok).toBe(true);
  });

  it('names firewalld and iptables by the commands that change their rules', () => {
    expect(report.probes.firewalld.mend).toBe(
      'firewall-cmd --permanent --zone=trusted --add-interface=skv+ && firewall-cmd --reload',
    );
    expect(report.probes.iptables.mend).toMatch(/^iptables -I FORWARD -i skv\+ -j ACCEPT && iptables -I /);
  });

  it('succeeds behind the firewall of Docker, in which skerry accepts the packets', () => {
    expect(report.probes.withDocker).toMatchObject({
      ok: true,
      found: expect.stringContaining('rules of yours in DOCKER-USER come after two of skerry'),
    });
    const own = /^\s*[io]ifname "skv\*" accept$/gm;
    expect(report.chains.whileUsed.match(own)).toHaveLength(2);
    expect(report.chains.afterRestart.match(own)).toHaveLength(2);
  });

  it('leaves that firewall as it was, with the rules of others', () => {
    for (const chain of [report.chains.afterProbe, report.chains.afterDown]) {
      expect(chain).not.toMatch(/"skv\*" accept$/m);
      expect(chain).toMatch(/oifname "skv\*" counter packets \d+ bytes \d+ accept/);
      expect(chain).toMatch(/counter packets \d+ bytes \d+ return/);
    }
    expect(report.links).not.toMatch(/skv|skprobe/);
  });

  it('leaves no folder behind', async () => {
    expect(await readdir(dir)).toEqual([]);
  });
});
