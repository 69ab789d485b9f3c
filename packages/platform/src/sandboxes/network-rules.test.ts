import { RuntimeError, RuntimeLostError } from '@skerry/runtime';
import { CLOSED_NETWORK } from '@skerry/runtime/network';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPlaneFixture, type PlaneFixture } from '../testing/plane-fixture.ts';

let fixture: PlaneFixture;
beforeEach(async () => {
  fixture = await createPlaneFixture();
});
afterEach(() => fixture.close());

const policy = { allow: ['1.1.1.1'], deny: ['0.0.0.0/0'] };
const applied = (id: string) => `network ${id} allow 1.1.1.1 deny 0.0.0.0/0`;
const replace = (id: string, network: typeof policy | null = policy) =>
  fixture.plane.networkRules.replace(id, network);

describe('the network of a sandbox', () => {
  it('is replaced in the sandbox and on record, and opened by null', async () => {
    const id = await fixture.create();
    await replace(id);
    expect(await fixture.rowOf(id)).toMatchObject({ network: policy, networkPending: false });
    await replace(id, null);
    expect(await fixture.rowOf(id)).toMatchObject({ network: null, networkPending: false });
    expect(fixture.runtime.log).toEqual([applied(id), `network ${id} allow  deny `]);
  });

  it('is replaced in turn when several callers do it, and not during another operation', async () => {
    const id = await fixture.create();
    const release = fixture.runtime.hold('network');
    const both = [replace(id), replace(id, null)];
    await expect.poll(() => fixture.runtime.log).toEqual([applied(id)]);
    await expect(fixture.plane.pauser.pause(id, 'filesystem')).rejects.toMatchObject({ code: 'conflict' });
    release();
    await Promise.all(both);
    expect(await fixture.rowOf(id)).toMatchObject({ network: null, networkPending: false });
    const resume = fixture.runtime.hold('pause');
    const pausing = fixture.plane.pauser.pause(id, 'filesystem');
    await expect(replace(id)).rejects.toMatchObject({ code: 'conflict' });
    resume();
    await pausing;
    await expect(replace(id)).rejects.toMatchObject({ code: 'not_found' });
    await expect(replace('inone')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('stays as it was where the sandbox cannot have the new one', async () => {
    const id = await fixture.create({ network: CLOSED_NETWORK });
    fixture.runtime.fail('network', new RuntimeError('unsupported', 'it has no link'));
    await expect(replace(id)).rejects.toMatchObject({
      code: 'unimplemented',
      message: expect.stringContaining('it has no link'),
    });
    expect(await fixture.rowOf(id)).toMatchObject({ network: CLOSED_NETWORK, networkPending: false });
  });

  it('is applied by the next server when the helper or the server ended in between', async () => {
    const [lost, killed] = [await fixture.create(), await fixture.create()];
    fixture.runtime.fail('network', new RuntimeLostError('the helper has ended'));
    await expect(replace(lost)).rejects.toMatchObject({ code: 'unavailable' });
    await fixture.store.setNetwork(killed, policy);
    fixture.runtime.log.length = 0;
    await fixture.startPlane();
    expect(fixture.runtime.log.toSorted()).toEqual([applied(lost), applied(killed)].toSorted());
    for (const id of [lost, killed])
      expect(await fixture.rowOf(id)).toMatchObject({ network: policy, networkPending: false });
  });

  it('is applied by the resume when the sandbox was paused in between', async () => {
    const id = await fixture.create();
    await fixture.store.setNetwork(id, policy);
    await fixture.plane.pauser.pause(id, 'filesystem');
    fixture.runtime.log.length = 0;
    await fixture.plane.resumer.resume(id, { timeoutMs: 30_000, memory: true });
    expect(fixture.runtime.log.slice(1)).toEqual([applied(id)]);
    expect(await fixture.rowOf(id)).toMatchObject({ network: policy, networkPending: false });
  });

  it('is that of its source in a fork', async () => {
    const id = await fixture.create();
    await replace(id);
    const [copy] = await fixture.plane.forker.fork(id, {
      ...{ kind: 'memory', timeoutMs: 30_000, count: 1, keyId: null },
    });
    if (copy?.status !== 'fulfilled') throw new Error('the fork failed');
    expect(copy.value).toMatchObject({ network: policy });
  });
});
