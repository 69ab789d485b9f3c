import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../kernel/run-command.ts';
import { blockedRanges } from './blocked.ts';
import type { Given } from './testing/receiver-lab.ts';

interface Report {
  arrived: Record<'internet' | 'escaped' | 'whole', string[]>;
  addresses: Record<'uplink' | 'escaped' | 'whole' | 'apart', string>;
}

const publicHost = '1.2.3.4';
const foreignSource = '8.8.4.4';

const toNumber = (address: string): number =>
  address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
const toAddress = (number: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');

/** Near both ends of each range. The very first and last are those of networks and broadcasts. */
const closed = blockedRanges.flatMap((range) => {
  const [first = '', bits = '32'] = range.split('/');
  const size = 2 ** (32 - Number(bits));
  return size === 1 ? [first] : [toAddress(toNumber(first) + 1), toAddress(toNumber(first) + size - 2)];
});
/** No kernel forwards to these, whatever the rules say. */
const isRouted = (address: string): boolean => !/^(0|127|22[4-9]|23\d)\./.test(address);

let dir: string;
let report: Report;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'receiver-'));
  const lab = fileURLToPath(new URL('./testing/receiver-lab.ts', import.meta.url));
  const given: Given = { stateDir: join(dir, 'state'), publicHost, foreignSource, closed };
  const args = ['--net', process.execPath, lab, JSON.stringify(given)];
  report = JSON.parse(await runCommand({ file: 'unshare', args, timeoutMs: 60_000 })) as Report;
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** What arrived at a port of any target, as `source target`. */
const at = (place: keyof Report['arrived'], port: number): string[] =>
  report.arrived[place]
    .filter((entry) => entry.endsWith(`:${port}`))
    .map((entry) => entry.slice(0, entry.lastIndexOf(':')))
    .sort();

describe('what arrives outside of a sandbox that has no rules of its own', () => {
  it('comes from the address of the host', () => {
    expect(at('internet', 1001)).toEqual([`${report.addresses.uplink} ${publicHost}`]);
  });

  it('has no source but that of the sandbox', () => {
    expect([at('internet', 1002), at('internet', 1003)]).toEqual([[], []]);
    // Without the rules of the host both do arrive.
    expect(at('internet', 3002)).toEqual([`${foreignSource} ${publicHost}`]);
    expect(at('internet', 3003)).toEqual([`${report.addresses.apart} ${publicHost}`]);
  });

  it('is for no closed range', () => {
    expect(at('internet', 1004)).toEqual([]);
    const targets = at('internet', 3004).map((entry) => entry.split(' ')[1]);
    // But those that lead to the sandboxes of this host.
    const routed = closed.filter(isRouted);
    expect(targets).toEqual(expect.arrayContaining(routed));
    expect(routed.length).toBeGreaterThan(blockedRanges.length);
  });
});

describe('what arrives at a sandbox', () => {
  it('is nothing that was sent from outside without being asked for', () => {
    expect([at('escaped', 1005), at('whole', 1005)]).toEqual([[], []]);
    expect([at('escaped', 3005), at('whole', 3005)]).toEqual([
      [`5.5.5.2 ${report.addresses.escaped}`],
      [`5.5.5.2 ${report.addresses.whole}`],
    ]);
  });

  it('is nothing of another sandbox', () => {
    expect(at('whole', 1006)).toEqual([]);
    expect(at('whole', 3006)).toEqual([`${report.addresses.escaped} ${report.addresses.whole}`]);
  });
});

describe('where the host has lost its rules', () => {
  it('those of a sandbox keep it from closed ranges', () => {
    expect(at('internet', 2001)).toEqual([`${report.addresses.whole} ${publicHost}`]);
  });

  it('those of its link keep a sandbox with a stack of its own from closed ranges and from others', () => {
    expect(at('internet', 2002)).toEqual([`${report.addresses.apart} ${publicHost}`]);
    expect(at('whole', 2003)).toEqual([]);
  });
});
