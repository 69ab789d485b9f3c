import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSystemClock } from '../../../clock.ts';
import { createRecordingLog } from '../../../testing/recording-log.ts';
import type { ListedNode } from '../membership.ts';
import { openKubernetes } from './api.ts';
import { createKubernetesMembership, type KubernetesMembership } from './kubernetes-membership.ts';
import { startTestApiServer, type TestApiServer, toPod } from './testing/api-server.ts';

let server: TestApiServer;
let folder: string;
let kubeconfig: string;
let membership: KubernetesMembership | undefined;
let changes: number;
let lines: ReturnType<typeof createRecordingLog>['lines'];

const clock = createSystemClock();
const start = async (recorded: readonly ListedNode[] = [], given = clock): Promise<KubernetesMembership> => {
  const { log, lines: logged } = createRecordingLog();
  lines = logged;
  changes = 0;
  const { resources } = await openKubernetes({ namespace: 'skerry', selector: 'app=node', kubeconfig });
  membership = createKubernetesMembership({ resources, clock: given, log });
  await membership.start({
    recorded,
    onChange: () => {
      changes += 1;
    },
  });
  return membership;
};
const addresses = (): Record<string, string> =>
  Object.fromEntries(membership?.nodes().map(({ name, address }) => [name, address]) ?? []);
/** Resolves when the changes from here on are seen by a watch. */
const watching = (): Promise<void> => expect.poll(() => server.watchCount()).toBe(2);

beforeEach(async () => {
  server = await startTestApiServer();
  folder = await mkdtemp(join(tmpdir(), 'skerry-kubernetes-'));
  kubeconfig = join(folder, 'kubeconfig');
  await server.writeKubeconfig(kubeconfig);
  for (const name of ['a', 'b']) server.put('nodes', { metadata: { name }, spec: {} });
});
afterEach(async () => {
  await membership?.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

describe('nodes of Kubernetes', () => {
  it('are the machines of pods that are Ready, at the port that the pod names', async () => {
    const ports = [{ name: 'skerry', containerPort: 7_500 }];
    server.put('pods', toPod('one', { node: 'a' }));
    server.put('pods', toPod('two', { node: 'ip-10-0-0-2.internal', ip: 'fd00::2', ports }));
    server.put('pods', toPod('starting', { node: 'c', isReady: false }));
    const leaving = toPod('leaving', { node: 'd' });
    server.put('pods', {
      ...leaving,
      metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    });
    await start();
    expect(addresses()).toEqual({ a: '10.0.0.1:7400', 'ip-10-0-0-2.internal': '[fd00::2]:7500' });
    expect(server.requests).toContain('GET /api/v1/namespaces/skerry/pods?labelSelector=app%3Dnode');
    await watching();
    server.put('pods', toPod('starting', { node: 'c' }));
    await expect.poll(() => Object.keys(addresses())).toEqual(['a', 'c', 'ip-10-0-0-2.internal']);
  });

  it('stay when their pod goes, move with its successor, and leave only when they are forgotten', async () => {
    server.put('pods', toPod('one', { node: 'a' }));
    await start();
    await watching();
    server.put('pods', toPod('one', { node: 'a', isReady: false }));
    server.remove('pods', 'one');
    server.put('pods', toPod('two', { node: 'b', ip: '10.0.0.2' }));
    await expect.poll(addresses).toEqual({ a: '10.0.0.1:7400', b: '10.0.0.2:7400' });
    expect(changes).toBe(2);
    server.put('pods', toPod('three', { node: 'a', ip: '10.0.0.3' }));
    await expect.poll(addresses).toEqual({ a: '10.0.0.3:7400', b: '10.0.0.2:7400' });
    expect(changes).toBe(3);
    membership?.forget('a');
    expect(Object.keys(addresses())).toEqual(['b']);
    server.put('pods', toPod('three', { node: 'a', ip: '10.0.0.3' }));
    await expect.poll(() => Object.keys(addresses())).toEqual(['a', 'b']);
  });

  it('keep the address of the first of two pods', async () => {
    server.put('pods', toPod('one', { node: 'a' }));
    await start();
    await watching();
    server.put('pods', toPod('other', { node: 'a', ip: '10.0.0.9' }));
    server.put('pods', toPod('last', { node: 'b' }));
    await expect.poll(() => Object.keys(addresses())).toEqual(['a', 'b']);
    expect(addresses().a).toBe('10.0.0.1:7400');
  });

  it('are cordoned while Kubernetes wants nothing new on their machine', async () => {
    await start();
    await watching();
    const cordoned = () => ['a', 'b'].filter((name) => membership?.isCordoned(name));
    expect(cordoned()).toEqual([]);
    server.put('nodes', { metadata: { name: 'a' }, spec: { unschedulable: true } });
    await expect.poll(cordoned).toEqual(['a']);
    server.put('nodes', { metadata: { name: 'a' }, spec: {} });
    await expect.poll(cordoned).toEqual([]);
    const taints = [{ key: 'ToBeDeletedByClusterAutoscaler', effect: 'NoSchedule' }];
    server.put('nodes', { metadata: { name: 'b' }, spec: { taints } });
    await expect.poll(cordoned).toEqual(['b']);
    server.remove('nodes', 'a');
    await expect.poll(cordoned).toEqual(['a', 'b']);
  });
});

describe('a watch of Kubernetes', () => {
  const listCount = () => server.requests.filter((one) => !one.includes('watch=')).length;

  it('begins again where it was when it has ended', async () => {
    await start();
    await watching();
    server.endWatches();
    server.put('pods', toPod('one', { node: 'a' }));
    await expect.poll(() => Object.keys(addresses())).toEqual(['a']);
    expect(listCount()).toBe(2);
    expect(lines).toEqual([expect.objectContaining({ message: 'a pod of a node is ready' })]);
  });

  it('lists all again when it breaks, and finds what has changed and gone meanwhile', async () => {
    server.put('pods', toPod('one', { node: 'a' }));
    server.put('nodes', { metadata: { name: 'a' }, spec: { unschedulable: true } });
    await start();
    await watching();
    server.breakWatches();
    server.put('nodes', { metadata: { name: 'a' }, spec: {} });
    server.put('pods', toPod('two', { node: 'b' }));
    await expect.poll(() => Object.keys(addresses())).toEqual(['a', 'b']);
    await expect.poll(() => membership?.isCordoned('a')).toBe(false);
  });

  it.each(['status', 'event'] as const)('lists all again after a 410 as %s', async (how) => {
    server.put('pods', toPod('one', { node: 'a' }));
    await start();
    await watching();
    server.endWatches();
    server.put('pods', toPod('two', { node: 'b' }));
    server.compact(how);
    await expect.poll(() => Object.keys(addresses())).toEqual(['a', 'b']);
    await watching();
    server.put('pods', toPod('three', { node: 'c' }));
    await expect.poll(() => Object.keys(addresses())).toEqual(['a', 'b', 'c']);
  });

  it('keeps the nodes while the API server is away, and goes on after that', async () => {
    server.put('pods', toPod('one', { node: 'a' }));
    await start();
    await watching();
    await server.stop();
    await expect.poll(() => lines.filter(({ level }) => level === 'warn').length).toBeGreaterThan(3);
    expect(Object.keys(addresses())).toEqual(['a']);
    expect(membership?.isCordoned('a')).toBe(false);
    server.put('pods', toPod('two', { node: 'b' }));
    await server.restart();
    await expect.poll(() => Object.keys(addresses()), { timeout: 10_000 }).toEqual(['a', 'b']);
  });
});

describe('the start with Kubernetes', () => {
  it('uses the recorded nodes while the API server does not answer', async () => {
    await server.stop();
    const soon = { ...clock, after: (ms: number, run: () => void) => clock.after(ms / 100, run) };
    await start([{ name: 'a', address: '10.0.0.1:7400' }], soon);
    expect(Object.keys(addresses())).toEqual(['a']);
    expect(membership?.isCordoned('a')).toBe(false);
    expect(lines.some(({ message }) => message.startsWith('Kubernetes does not answer'))).toBe(true);
  });

  it.each([401, 403])('fails with the resource when the API server refuses it with %i', async (status) => {
    server.refuse(status);
    await expect(start()).rejects.toMatchObject({
      name: 'MembershipError',
      message: expect.stringMatching(new RegExp(`answers ${status} to a list or watch of (pods|nodes)`)),
    });
  });

  it('fails for a kubeconfig that is missing, is none, or names no cluster', async () => {
    const open = (file: string) =>
      openKubernetes({ namespace: 'skerry', selector: 'app=node', kubeconfig: file });
    const error = { name: 'MembershipError', message: expect.stringContaining(folder) };
    await expect(open(join(folder, 'none'))).rejects.toMatchObject(error);
    await writeFile(join(folder, 'text'), '{"clusters": 5');
    await expect(open(join(folder, 'text'))).rejects.toMatchObject(error);
    await writeFile(join(folder, 'empty'), '{"clusters": [], "contexts": [], "users": []}');
    await expect(open(join(folder, 'empty'))).rejects.toMatchObject(error);
  });
});
