import { describe, expect, it } from 'vitest';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import { leaseMs, type TestServer, useServers } from '../hosts/testing/servers-fixture.ts';

const servers = useServers({ hasCopies: true });
const { start, pass, create, stateOf, runtimeOf, cut, mend } = servers;

const hasBlobCopy = async (id: string): Promise<boolean> => {
  const row = await servers.store.findSandbox(id);
  const { pausedAt = null } = row ?? {};
  return (await servers.store.findBlobCopy({ sandboxId: id, pausedAt })) !== undefined;
};
const nodeOf = async (id: string) => (await servers.store.findSandbox(id))?.node;
const connect = ({ plane }: TestServer, id: string, isForwarded = false) =>
  plane.resumer.connect(id, { timeoutMs: 100_000, memory: true, isForwarded });
/** Makes a call where the server says, as the HTTP layer does. */
const connectAnywhere = (of: readonly TestServer[], at: TestServer, id: string) =>
  connect(at, id).catch((error: unknown) => {
    if (!(error instanceof ElsewhereError)) throw error;
    return connect(of.find(({ owner }) => `${owner}:1` === error.address) as TestServer, id, true);
  });
/** Two servers, of nodes a and b, which know that both are ready. */
const startBoth = async () => {
  const one = await start('one');
  const two = await start('two');
  await pass([one, two], [['a'], ['b']]);
  await areReady([one, two]);
  return [one, two] as const;
};
const areReady = (of: readonly TestServer[], expected = ['ready', 'ready']) =>
  expect
    .poll(async () => {
      for (const { manual } of of) manual.advance(leaseMs / 3);
      return (await (of[0] as TestServer).hosts.nodes.list()).map(({ state }) => state);
    })
    .toEqual(expected);
const pauseCopied = async (server: TestServer): Promise<string> => {
  const { id } = await create(server, { isForwarded: true });
  await server.plane.pauser.pause(id, 'memory');
  await expect.poll(() => hasBlobCopy(id)).toBe(true);
  return id;
};

describe('several servers with one blob store', () => {
  it('resume what is stored on a node that is gone at the server of another, once, whichever is asked', async () => {
    const [one, two] = await startBoth();
    const id = await pauseCopied(one);
    expect(await nodeOf(id)).toBe('a');
    cut('a');
    await areReady([two, one], ['unreachable', 'ready']);
    await expect(connect(one, id)).rejects.toMatchObject({ name: 'ElsewhereError', address: 'two:1' });
    await expect(connect(two, id)).rejects.toMatchObject({ name: 'ElsewhereError', address: 'one:1' });
    const asked = await Promise.all([1, 2, 3].map(() => connectAnywhere([one, two], one, id)));
    expect(new Set(asked.map(({ row }) => row.runId)).size).toBe(1);
    expect([await stateOf(id), await nodeOf(id)]).toEqual(['running', 'b']);
    expect(runtimeOf('a').instances.has(id)).toBe(true);
    mend('a');
    await expect.poll(() => runtimeOf('a').instances.has(id)).toBe(false);
    expect(runtimeOf('b').instances.has(id)).toBe(true);
    // Only the server that builds templates removes the copy of the sandbox that the other one has resumed.
    await expect
      .poll(() => {
        for (const { manual } of [one, two]) manual.advance(leaseMs / 3);
        return servers.copies.ids.size;
      })
      .toBe(0);
  });

  it('start one run of a sandbox that is on no node when both are asked at once', async () => {
    const [one, two] = await startBoth();
    const id = await pauseCopied(one);
    expect(await servers.store.ownedBy('one').detachSandbox(id)).toBe(true);
    const asked = await Promise.allSettled([one, two].map((at) => connectAnywhere([one, two], at, id)));
    const runs = asked.flatMap((one) => (one.status === 'fulfilled' ? [one.value.row.runId] : []));
    expect(runs.length).toBeGreaterThan(0);
    expect(new Set(runs).size).toBe(1);
    for (const one of asked)
      if (one.status === 'rejected')
        expect(one.reason).toMatchObject({ status: expect.toBeOneOf([409, 503]) });
    const home = await nodeOf(id);
    const instances = ['a', 'b'].filter((node) => runtimeOf(node).instances.has(id) && node === home);
    expect(instances).toHaveLength(1);
  });

  it('wake what is stored on a node that is gone, once, whichever has the traffic', async () => {
    const [one, two] = await startBoth();
    const { id } = await create(one, { isForwarded: true, autoResume: true });
    await one.plane.pauser.pause(id, 'memory');
    await expect.poll(() => hasBlobCopy(id)).toBe(true);
    cut('a');
    await areReady([two, one], ['unreachable', 'ready']);
    const { signal } = new AbortController();
    const woken = [one, two, one, two].map(async (at) =>
      (await at.plane.directory.findDormant(id))?.wake(signal),
    );
    await Promise.all(woken);
    expect([await stateOf(id), await nodeOf(id)]).toEqual(['running', 'b']);
    for (const at of [one, two]) expect(await at.plane.directory.find(id)).toBeDefined();
  });

  it('drain a node to that of another server', async () => {
    const [one, two] = await startBoth();
    const paused = await pauseCopied(one);
    const { id: running } = await create(one, { isForwarded: true });
    await one.hosts.nodes.setCordoned('a', true);
    const { drainer } = one.plane;
    expect(drainer?.advance('a', [paused, running])).toBe(true);
    expect(await one.plane.nodeEvents.isIdle('a')).toBe(false);
    await expect.poll(() => drainer?.isBusyOn('a')).toBe(false);
    expect([await stateOf(running), await nodeOf(running)]).toEqual(['running', 'b']);
    expect([await stateOf(paused), await nodeOf(paused)]).toEqual(['paused', null]);
    expect([drainer?.problemOf(running), drainer?.problemOf(paused)]).toEqual([undefined, undefined]);
    expect(await two.plane.directory.find(running)).toBeDefined();
    await expect.poll(() => runtimeOf('a').instances.size).toBe(0);
  });

  it('leave no copy of a server that loses its node in the middle, and store again at the next owner', async () => {
    const [one, two] = await startBoth();
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    servers.copies.held = held;
    const { id } = await create(one, { isForwarded: true });
    await one.plane.pauser.pause(id, 'memory');
    await expect.poll(() => one.plane.copier?.isBusyOn('a')).toBe(true);
    await expect.poll(async () => (await servers.store.listBlobCopyIds()).length).toBe(1);
    const [begun] = await servers.store.listBlobCopyIds();
    // The first server does not notice that time has passed.
    await pass([two], [['a', 'b']]);
    await expect.poll(() => servers.store.listBlobCopyIds()).not.toContain(begun);
    release();
    servers.copies.held = undefined;
    await expect
      .poll(async () => {
        two.manual.advance(leaseMs / 3);
        return hasBlobCopy(id);
      })
      .toBe(true);
    const [copy] = await servers.store.listBlobCopyIds();
    expect(copy).not.toBe(begun);
    // What it wrote after that is removed, by itself, and nothing else.
    one.manual.advance(leaseMs / 3);
    await expect.poll(() => [...servers.copies.ids]).toEqual([copy]);
    await connect(two, id);
    expect(await stateOf(id)).toBe('running');
  });
});
