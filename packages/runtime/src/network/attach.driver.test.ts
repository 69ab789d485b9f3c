import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../kernel/run-command.ts';
import { readConnectionLimit } from './connection-limit.ts';

type Outcomes = Record<string, string>;
interface Report {
  fromHost: Outcomes;
  inside: Outcomes;
  withoutInternet: Outcomes;
  inbound: Outcomes;
  ipv6: string;
  escaped: Outcomes;
  tracked: number;
  marked: Outcomes;
  trackedMarked: number;
  flooded: Outcomes;
  spoofed: Outcomes;
  spoofedOther: Outcomes;
  ownStack: Outcomes;
  changes: Outcomes[];
  withHungGateway: string;
  changedOwnStack: Outcomes;
  withoutLink: string;
  unguarded: Outcomes;
  guarded: Outcomes;
  afterReload: boolean;
  whileReserved: boolean;
  badPid: string;
  ownPid: string;
  aborted: string;
  traces: { links: boolean; table: boolean; forwarding: string; stateDir: boolean };
  attachMs: number[];
}

const privateHosts = [
  ...['private10', 'private172', 'private192', 'metadata', 'carrierNat', 'azureMetadata'],
  ...['benchmarking', 'documentation1', 'documentation2', 'documentation3', 'sixToFour'],
  ...['thisNetwork', 'reserved', 'special', 'neighbour', 'onLink'],
];
const hostAddresses = ['hostLink', 'hostUplink'];

let dir: string;
let report: Report;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'network-'));
  const lab = fileURLToPath(new URL('./testing/lab.ts', import.meta.url));
  report = JSON.parse(
    await runCommand({
      file: 'unshare',
      args: ['--net', process.execPath, lab, join(dir, 'state')],
      timeoutMs: 60_000,
    }),
  ) as Report;
});
afterAll(() => rm(dir, { recursive: true, force: true }));

describe('the network of a sandbox', () => {
  it('reaches the internet behind the address of the host', () => {
    expect(report.inside.publicHost).toBe('answered 198.51.100.1');
  });

  it('reaches its name server on port 53 only', () => {
    expect(report.inside.resolver).toBe('answered 198.51.100.1');
    expect(report.inside.resolverOtherPort).toBe('EHOSTUNREACH');
  });

  it.each(privateHosts)('is refused at once what only the host can reach: %s', (name) => {
    expect(report.fromHost[name]).toMatch(/^answered /);
    expect(report.inside[name]).toBe('EHOSTUNREACH');
  });

  it('reaches neither the host nor another sandbox', () => {
    for (const name of [...hostAddresses, 'otherSandbox'])
      expect(report.inside[name]).not.toMatch(/answered/);
  });

  it('reaches itself on loopback', () => {
    expect(report.inside.loopback).toBe('answered 127.0.0.1');
  });

  it('has nothing but loopback without internet', () => {
    expect(report.withoutInternet).toEqual({ publicHost: 'ENETUNREACH', loopback: 'answered 127.0.0.1' });
  });

  it('takes no connection from outside', () => {
    expect(report.inbound.guest).toBe('timeout');
  });

  it('has no IPv6 address, on neither end of its link', () => {
    expect(report.ipv6).toBe('');
  });

  it.each([...privateHosts, ...hostAddresses, 'otherSandbox', 'resolverOtherPort'])(
    'is stopped by the host when a sandbox has removed its own rules: %s',
    (name) => {
      expect(report.escaped.publicHost).toMatch(/answered/);
      expect(report.escaped[name]).not.toMatch(/answered/);
    },
  );

  it('cannot send from an address that is not its own', () => {
    expect(report.spoofed.publicHost).toBe('timeout');
    expect(report.spoofedOther.publicHost).toBe('timeout');
  });

  it('cannot fill the connection table of the host', () => {
    expect(report.tracked).toBeGreaterThan(readConnectionLimit() - 100);
    expect(report.tracked).toBeLessThan(readConnectionLimit() + 100);
    expect(report.flooded.publicHost).toMatch(/answered/);
    expect(report.trackedMarked).toBeGreaterThan(readConnectionLimit() - 100);
    expect(report.trackedMarked).toBeLessThan(readConnectionLimit() + 100);
  });

  it('reaches the gateway by what it marks, and nothing else that listens on its port', () => {
    expect(report.marked).toEqual({
      toNothing: 'ECONNREFUSED',
      toStranger: 'EHOSTUNREACH',
      toGateway: 'answered gateway',
    });
  });

  it('isolates a sandbox with a network stack of its own from all others, also without the rules of the host', () => {
    expect(report.ownStack.publicHost).toMatch(/answered/);
    expect(report.ownStack.resolver).toMatch(/answered/);
    expect(report.unguarded.otherSandbox).toMatch(/answered/);
    for (const name of [...privateHosts, 'otherSandbox']) expect(report.guarded[name], name).toBe('timeout');
  });

  it('obeys each policy that replaces the one before, also where it had no link', () => {
    const answered = { publicHost: 'answered 198.51.100.1', resolver: 'answered 198.51.100.1' };
    expect(report.changes).toEqual([
      { publicHost: 'ENETUNREACH', resolver: 'ENETUNREACH' },
      answered,
      { ...answered, publicHost: 'EHOSTUNREACH' },
      { ...answered, resolver: 'EHOSTUNREACH' },
      { publicHost: 'EHOSTUNREACH', resolver: 'EHOSTUNREACH' },
      { publicHost: 'ECONNREFUSED', resolver: 'ECONNREFUSED' },
    ]);
    expect(report.withHungGateway).toBe('unavailable');
    expect(report.changedOwnStack).toEqual({ ...answered, publicHost: 'timeout' });
    expect(report.withoutLink).toBe('unsupported');
  });

  it('restores the rules of the host after another program has flushed them', () => {
    expect(report.afterReload).toBe(true);
  });

  it('keeps the rules of the host while any slot is reserved', () => {
    expect(report.whileReserved).toBe(true);
  });

  it('refuses a process that has ended, one without a network namespace of its own, and an aborted wait', () => {
    expect([report.badPid, report.ownPid, report.aborted]).toEqual([
      'unavailable',
      'internal',
      'unavailable',
    ]);
  });

  it('leaves no link, no rule and no changed setting behind', () => {
    expect(report.traces).toEqual({ links: false, table: false, forwarding: '0', stateDir: false });
  });

  it('is attached within milliseconds', () => {
    expect(Math.min(...report.attachMs)).toBeLessThan(40);
  });
});
