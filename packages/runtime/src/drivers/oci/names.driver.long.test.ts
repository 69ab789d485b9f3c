import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../kernel/run-command.ts';
import { prepareRunsc } from './gvisor/prepare-runsc.ts';
import type { NamesReport } from './testing/names-lab.ts';
import { useOci } from './testing/oci-fixture.ts';

const fixture = useOci({ name: 'names' });

const toPath = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const gateway = toPath('../../../../server/src/egress/main.ts');

const denied = 'TLSV1_ALERT_ACCESS_DENIED';
const toApi = ['tls api.example.com at 1.2.3.4', denied];
const toCdn = ['tls a.cdn.example at 1.2.3.5', denied];
const ofApi = ['dns api.example.com 1', 'tls api.example.com at 1.2.3.4'];
const ofCdn = ['dns a.cdn.example 1', 'tls a.cdn.example at 1.2.3.5'];

describe.each([
  // A sentry sends past the rules of the namespace that would reject; those of the link only drop.
  { level: 'container', rejected: ['EHOSTUNREACH', 'EPERM'] },
  { level: 'gvisor', rejected: ['timeout', 'timeout'] },
])('at level $level, a sandbox with rules by name', ({ level, rejected: [tcp = '', udp = ''] }) => {
  let report: NamesReport;
  beforeAll(async () => {
    const { base, agentDir, rootfs } = fixture;
    const runsc = level === 'gvisor' ? [await prepareRunsc({ targetDir: '/var/cache/skerry' })] : [];
    const lab = `${base}/${level}`;
    await mkdir(lab);
    const program = [process.execPath, toPath('testing/names-lab.ts')];
    const args = ['--net', '--mount', ...program, lab, agentDir, rootfs, gateway, ...runsc];
    report = JSON.parse(await runCommand({ file: 'unshare', args, timeoutMs: 240_000 })) as NamesReport;
  });

  it('reaches the names and addresses that it may, over DNS, TLS and HTTP', () => {
    expect(report.ofAllowed.inside).toEqual([
      ['1.2.3.4'],
      'tls api.example.com at 1.2.3.4',
      '200 http api.example.com at 1.2.3.4',
      'tls a.cdn.example at 1.2.3.5',
      'reached',
    ]);
  });

  it('asks the name servers of the host for no other name, and does not get closed addresses', () => {
    const { inside, outside } = report.ofRefused;
    expect(inside.slice(0, 3)).toEqual(['EAI -2', 'EAI -2', 'EAI -3']);
    const asked = new Set(outside);
    expect(asked).toEqual(new Set(['dns api.example.com 1', 'dns rebind.cdn.example 1']));
  });

  it('is refused TLS and HTTP whose name is not allowed or does not belong to the address', () => {
    const refusal = '403 skerry: no rule allows this host at this address';
    expect(report.ofRefused.inside.slice(3, 8)).toEqual([denied, denied, denied, refusal, refusal]);
  });

  it('sends nothing to other ports, name servers and protocols', () => {
    expect(report.ofRefused.inside.slice(8)).toEqual([tcp, tcp, tcp, tcp, udp, udp]);
  });

  it('changes nothing for a sandbox without such rules', () => {
    expect(report.ofFree.inside).toEqual(['tls evil.example at 1.2.3.4', 'reached']);
  });

  it('loses connections that a change of the rules no longer allows, also those that were made without the gateway', () => {
    expect(report.held).toEqual(['open', 'open']);
    expect(report.changeMs).toBeLessThan(1_000);
    expect(report.endings).toEqual(['ended', 'ended']);
    expect(report.afterChange).toEqual({
      named: [...toCdn],
      other: [...toApi],
      outside: [...ofCdn, ...ofApi],
    });
  });

  it('sends nothing where the host has lost its rules', () => {
    expect(report.withoutHostRules).toEqual({ inside: ['EAI -3'], outside: [] });
  });

  it('reaches nothing without the gateway', () => {
    expect(report.withoutGateway).toEqual({
      inside: ['ECONNREFUSED', 'ECONNREFUSED', 'EAI -3'],
      outside: [],
    });
  });

  it('has its rules again when the gateway was killed and started anew', () => {
    const { whileDown, ...afterwards } = report.afterKill;
    // The new one may be there already.
    expect(['ECONNREFUSED', denied]).toContain(whileDown[0]);
    expect(whileDown[1]).toBe(tcp);
    expect(afterwards).toEqual({
      isOther: true,
      inside: toApi,
      outside: ofApi,
    });
  });

  it('keeps its rules over a pause and over a restart of what started it', () => {
    expect(report.afterPause).toEqual({ inside: toCdn, outside: ofCdn });
    expect(report.afterRestart).toEqual({ inside: toApi, outside: ofApi });
  });

  it('has rules of its own as a copy', () => {
    expect(report.ofCopy).toEqual({ inside: toCdn, outside: ofCdn });
  });
});
