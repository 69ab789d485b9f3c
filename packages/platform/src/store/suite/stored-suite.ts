import { describe, expect, it } from 'vitest';
import type { NewSandbox, Store } from '../store.ts';

/** How a store keeps the copies in the blob store: a part of `describeStore`. */
export const describeStored = (
  ask: () => Store,
  { sandbox }: { sandbox: (id: string, more?: Partial<NewSandbox>) => NewSandbox },
): void => {
  const result = { manifestSha256: 'a'.repeat(64), templateDigest: 'sha256:b', sizeBytes: 2 ** 40 };
  const place = { node: 'a', maxActive: 9 };
  const pause = async (id: string, pausedAt: number, node: string | null = 'a') => {
    if ((await ask().findSandbox(id)) === undefined)
      await ask().reserveSandbox(sandbox(id), {
        maxActive: 100,
        place: node === null ? undefined : { ...place, node },
      });
    const from = ['starting', 'running'] as const;
    await ask().changeState(id, { from, to: 'paused', set: { pausedAt, pausedWith: 'memory' } });
  };
  const run = (id: string) =>
    ask().changeState(id, { from: ['paused', 'resuming'], to: 'running', set: { pausedAt: null } });
  const begin = (id: string, sandboxId: string | null = null, pausedAt: number | null = null) =>
    ask().beginStored({ id, sandboxId, pausedAt, createdAt: 1 });
  const unstored = async () => (await ask().listUnstored()).map(({ kind, id }) => `${kind} ${id}`);

  describe('copies in the blob store', () => {
    it('are wanted of each pause on a node, until there is one of that pause', async () => {
      await pause('i2', 20);
      await pause('i1', 10);
      await pause('i3', 5, null);
      await ask().reserveSandbox(sandbox('i4'), { maxActive: 9, place });
      expect(await ask().listUnstored()).toEqual([
        { kind: 'sandbox', id: 'i1', node: 'a', pausedAt: 10 },
        { kind: 'sandbox', id: 'i2', node: 'a', pausedAt: 20 },
      ]);
      await begin('c1', 'i1', 10);
      expect(await unstored()).toEqual(['sandbox i2']);
      expect(await ask().findStored({ sandboxId: 'i1', pausedAt: 10 })).toBeUndefined();
      expect(await ask().finishStored('c1', result)).toBe(true);
      expect(await ask().finishStored('c1', result)).toBe(false);
      const row = { id: 'c1', state: 'stored', sandboxId: 'i1', pausedAt: 10, createdAt: 1, ...result };
      expect(await ask().findStored({ sandboxId: 'i1', pausedAt: 10 })).toEqual(row);
      expect(await ask().findStored({ sandboxId: 'i1', pausedAt: 11 })).toBeUndefined();
      await run('i1');
      await pause('i1', 30);
      expect(await unstored()).toEqual(['sandbox i2', 'sandbox i1']);
    });

    it('are removed when their sandbox runs or has ended, and when no process makes them', async () => {
      for (const [index, id] of ['i1', 'i2', 'i3', 'i4'].entries()) {
        await pause(id, index);
        await begin(`c${id}`, id, index);
      }
      expect(await ask().retireStored((id) => id !== 'ci4')).toEqual(['ci4']);
      expect(await ask().finishStored('ci4', result)).toBe(false);
      for (const id of ['ci1', 'ci2', 'ci3']) await ask().finishStored(id, result);
      await ask().forgetStored('ci4');
      expect(await ask().retireStored(() => false)).toEqual([]);
      const resume = { endAt: 99, maxActive: 100, place };
      expect(await ask().reserveResume('i1', resume)).toBe('reserved');
      expect(await ask().retireStored(() => false)).toEqual([]);
      await run('i1');
      await ask().changeState('i2', { from: ['paused'], to: 'killing' });
      expect(await ask().retireStored(() => false)).toEqual(['ci1', 'ci2']);
      expect(await unstored()).toEqual(['sandbox i4']);
    });

    it('are wanted of snapshots with a tag on a node, and removed with those', async () => {
      const size = { cpuCount: 1, memoryMb: 1, diskMb: 1 };
      const snapshot = { parentId: null, buildId: null, kind: 'memory' as const, createdAt: 1, ...size };
      for (const id of ['s1', 's2', 's3'])
        await ask().beginSnapshot({ id, sandboxId: 'i1', ...snapshot, node: id === 's3' ? null : 'a' });
      for (const id of ['s1', 's3'])
        await ask().publishSnapshot(id, { templateId: `t${id}`, name: null, tag: 'default' });
      expect(await unstored()).toEqual(['snapshot s1']);
      await begin('s1');
      expect(await unstored()).toEqual([]);
      await ask().finishStored('s1', result);
      expect(await ask().findStored({ snapshotId: 's1' })).toMatchObject({ sandboxId: null, ...result });
      expect(await ask().retireStored(() => false)).toEqual([]);
      await ask().moveSnapshot('s1', 'b');
      await ask().moveSnapshot('s2', 'b');
      const homes = ['s1', 's2'].map(async (id) => (await ask().findSnapshotRow(id))?.node);
      expect(await Promise.all(homes)).toEqual(['b', 'a']);
      await ask().retireSnapshots({ templateId: 'ts1' });
      expect(await ask().retireStored(() => false)).toEqual(['s1']);
      expect(await ask().findStored({ snapshotId: 's1' })).toBeUndefined();
    });

    it('free a node of the sandboxes that have one, which can be resumed on another', async () => {
      for (const id of ['i1', 'i2', 'i3']) await pause(id, 1);
      for (const id of ['i1', 'i2']) {
        await begin(`c${id}`, id, 1);
        await ask().finishStored(`c${id}`, result);
      }
      expect(await ask().detachStored('i3')).toBe(false);
      expect(await ask().detachStored('i1')).toBe(true);
      expect(await ask().findSandbox('i1')).toMatchObject({ node: null, state: 'paused' });
      await ask().detachNode('a');
      const on = async (id: string) => (await ask().findSandbox(id))?.node;
      expect([await on('i2'), await on('i3')]).toEqual([null, 'a']);
      expect(await unstored()).toEqual(['sandbox i3']);
      const move = { endAt: 9, maxActive: 100, place: { node: 'b', maxActive: 1 }, moves: true };
      expect(await ask().reserveResume('i1', move)).toBe('reserved');
      expect(await ask().reserveResume('i2', move)).toBe('node_full');
      expect([await on('i1'), await on('i2')]).toEqual(['b', null]);
      await ask().changeState('i1', { from: ['resuming'], to: 'paused', set: { node: null } });
      expect(await on('i1')).toBeNull();
    });
  });
};
