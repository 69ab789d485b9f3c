import { describe, expect, it } from 'vitest';
import type { NewSandbox } from '../rows.ts';
import type { Store } from '../store.ts';

/** How a store keeps leases, and what it refuses to those who lack one: a part of `describeStore`. */
export const describeLeases = (
  ask: () => Store,
  { sandbox }: { sandbox: (id: string, more?: Partial<NewSandbox>) => NewSandbox },
): void => {
  const holder = (owner: string, leaseMs = 60_000) => ({ owner, address: `${owner}:1`, leaseMs });
  const take = (owner: string, leaseMs?: number, name = 'a') => ask().takeLease(name, holder(owner, leaseMs));
  const claim = (owner: string, leaseMs?: number) =>
    ask().claimNode({ name: 'a', address: '10.0.0.1:7400' }, holder(owner, leaseMs));
  const place = { node: 'a', maxActive: 10 };

  describe('leases', () => {
    it('have one owner, who takes and renews them, until they expire or are released', async () => {
      expect([await take('one'), await take('two'), await take('one')]).toEqual([true, false, true]);
      await take('two', 60_000, 'b');
      expect(await ask().listLeases()).toEqual([
        { name: 'a', owner: 'one', address: 'one:1', ageMs: expect.any(Number) },
        { name: 'b', owner: 'two', address: 'two:1', ageMs: expect.any(Number) },
      ]);
      expect(await ask().renewLeases(holder('one'))).toEqual(['a']);
      await ask().releaseLeases('two', 'a');
      expect(await take('two')).toBe(false);
      await ask().releaseLeases('one', 'a');
      expect(await take('two')).toBe(true);
      await ask().releaseLeases('two');
      expect(await ask().listLeases()).toEqual([]);
    });

    it('are renewed after their end unless another owner has taken them', async () => {
      await take('one', 0);
      expect(await ask().listLeases()).toEqual([]);
      expect(await ask().renewLeases(holder('one', 0))).toEqual(['a']);
      const taken = await Promise.all(['two', 'three', 'four'].map((owner) => take(owner)));
      expect(taken.filter(Boolean)).toHaveLength(1);
      expect(await ask().renewLeases(holder('one'))).toEqual([]);
    });

    it('raise the epoch of a node with each owner, and not for one who does not get it', async () => {
      expect(await claim('one')).toMatchObject({ epoch: 1 });
      expect(await claim('two')).toBeUndefined();
      await ask().releaseLeases('one');
      expect(await claim('two', 0)).toMatchObject({ epoch: 2 });
      const both = await Promise.all([claim('three'), claim('four')]);
      expect(both.filter(Boolean)).toMatchObject([{ epoch: 3 }]);
    });

    it('fence the writes of a former owner, and change nothing then', async () => {
      const [one, two] = [ask().ownedBy('one'), ask().ownedBy('two')];
      await claim('one', 0);
      expect(await one.reserveSandbox(sandbox('i1'), { maxActive: 9, place })).toBe('reserved');
      await one.reserveSandbox(sandbox('i2'), { maxActive: 9, place });
      await one.changeState('i2', { from: ['starting'], to: 'paused' });
      await one.addWarm({ id: 'i6', spec: '', createdAt: 1, node: 'a' });
      // An expired lease that is not taken is still that of its owner.
      expect(await one.changeState('i1', { from: ['starting'], to: 'running' })).toBeDefined();
      await claim('two');
      const refused = { code: 'unavailable', headers: { 'Retry-After': '1' } };
      const resume = { endAt: 9, maxActive: 9, place };
      for (const write of [
        () => one.changeState('i1', { from: ['running'], to: 'killing' }),
        () => one.moveEnd('i1', { endAt: 9, extendOnly: false }),
        () => one.reserveResume('i2', resume),
        () => one.reserveSandbox(sandbox('i3'), { maxActive: 9, place }),
        () => one.movePlace('i1', place),
        () => one.addWarm({ id: 'i5', spec: '', createdAt: 1, node: 'a' }),
        () => one.removeWarm('i6'),
        () => one.noteNodeSeen('a', 1),
        () => one.noteNodeLost('a', 1),
        () => one.noteNodeStatus('a', { state: 'ready' }),
      ])
        await expect(write()).rejects.toMatchObject(refused);
      expect(await one.findSandbox('i1')).toMatchObject({ state: 'running', endAt: sandbox('i1').endAt });
      expect(await one.findSandbox('i3')).toBeUndefined();
      expect((await ask().listWarm()).map(({ id }) => id)).toEqual(['i6']);
      expect(await ask().listNodes()).toMatchObject([{ lostAt: null, seenAt: null, status: null }]);
      expect(await two.reserveResume('i2', resume)).toBe('reserved');
      await two.noteNodeStatus('a', { state: 'unreachable', problem: 'cut' });
      expect(await ask().listNodes()).toMatchObject([{ status: { state: 'unreachable', problem: 'cut' } }]);
      expect(await two.changeState('i1', { from: ['running'], to: 'killing' })).toBeDefined();
      // What is on no node belongs to all.
      expect(await one.reserveSandbox(sandbox('i4'), { maxActive: 9 })).toBe('reserved');
    });

    it('do not matter for the list of runs', async () => {
      for (const id of ['i1', 'i2', 'i3']) await ask().reserveSandbox(sandbox(id), { maxActive: 9, place });
      const run = (id: string) =>
        ask().changeState(id, { from: ['starting'], to: 'running', set: { runId: `run ${id}` } });
      await run('i1');
      await run('i2');
      expect(await ask().listRuns(['i1', 'i3'])).toEqual([{ id: 'i1', runId: 'run i1', node: 'a' }]);
      expect(await ask().listRuns([])).toEqual([]);
    });
  });
};
