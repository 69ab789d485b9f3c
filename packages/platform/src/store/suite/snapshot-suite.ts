import { describe, expect, it } from 'vitest';
import type { NewSandbox, NewSnapshot, SnapshotTag } from '../rows.ts';
import type { Store } from '../store.ts';

const start = Date.UTC(2026, 0, 1);

const snapshot = (id: string, more: Partial<NewSnapshot> = {}): NewSnapshot => ({
  id,
  project: 'local',
  sandboxId: 'i1',
  parentId: null,
  isolation: 'container' as const,
  buildId: null,
  kind: 'filesystem',
  createdAt: start,
  cpuCount: 2,
  memoryMb: 512,
  diskMb: 1024,
  ...more,
});

/** How a store keeps snapshots: a part of `describeStore`. */
export const describeSnapshots = (
  ask: () => Store,
  {
    sandbox,
    reopen,
  }: { sandbox: (id: string, more: Partial<NewSandbox>) => NewSandbox; reopen: () => Promise<Store> },
): void => {
  const make = async (id: string, place: Partial<SnapshotTag> = {}, more: Partial<NewSnapshot> = {}) => {
    await ask().beginSnapshot(snapshot(id, more));
    return ask().publishSnapshot(id, { templateId: `t${id}`, name: null, tag: 'default', ...place });
  };
  const listed = async (query: Parameters<Store['listSnapshots']>[0] = {}) =>
    (await ask().listSnapshots(query)).map(({ id }) => id);
  const begin = (id: string, snapshotId: string, templateId: string) =>
    ask().reserveSandbox(sandbox(id, { snapshotId, templateId }), { maxActive: 100 });
  const end = (id: string) => ask().changeState(id, { from: ['starting'], to: 'ended' });

  describe('snapshots', () => {
    it('finds a snapshot when it is ready and not before, also after a restart', async () => {
      await ask().beginSnapshot(snapshot('s1', { parentId: 's0', kind: 'memory' }));
      expect(await ask().findSnapshotRow('s1')).toMatchObject({ state: 'making', templateId: null });
      expect(await listed()).toEqual([]);
      expect(await begin('i2', 's1', 't1')).toBe('no_snapshot');
      const place = { templateId: 't1', name: 'prepared', tag: 'v1' };
      const made = await ask().publishSnapshot('s1', place);
      expect(made).toEqual({
        ...snapshot('s1', { parentId: 's0', kind: 'memory' }),
        node: null,
        state: 'ready',
        templateId: 't1',
        templateName: 'prepared',
        tag: 'v1',
      });
      expect(await ask().publishSnapshot('s1', place)).toBeUndefined();
      const store = await reopen();
      expect(await store.findSnapshot('t1', 'v1')).toEqual(made);
      expect(await store.findSnapshot('t1', 'default')).toBeUndefined();
      expect(await store.findNamedTemplate({ project: 'local', name: 'prepared' })).toMatchObject({
        id: 't1',
        kind: 'snapshot',
        diskMb: 1024,
      });
    });

    it('creates a template without a name for a snapshot without a name', async () => {
      expect(await make('s1')).toMatchObject({ templateId: 'ts1', templateName: null, tag: 'default' });
      expect(await make('s2')).toMatchObject({ templateId: 'ts2' });
      expect(await ask().findTemplate('ts1')).toMatchObject({ id: 'ts1', name: null });
    });

    it('adds a snapshot to the existing template of its name, and moves the tag to it', async () => {
      await make('s1', { name: 'prepared' });
      expect(await make('s2', { name: 'prepared', tag: 'v2' })).toMatchObject({ templateId: 'ts1' });
      expect(await listed()).toEqual(['s2', 's1']);
      await make('s3', { name: 'prepared' });
      expect((await ask().findSnapshot('ts1', 'default'))?.id).toBe('s3');
      expect(await ask().listSnapshotIds('removing')).toEqual(['s1']);
      await ask().forgetSnapshot('s1');
      expect(await ask().findSnapshotRow('s1')).toBeUndefined();
    });

    it('refuses the name of another kind of template', async () => {
      const size = { cpuCount: 2, memoryMb: 1024, diskMb: 2048 };
      await ask().ensureTemplate({ project: 'local', id: 'tbase', name: 'base', createdAt: start, ...size });
      expect(await make('s1', { name: 'base' })).toBe('taken');
      expect(await ask().findSnapshotRow('s1')).toMatchObject({ state: 'making' });
    });

    it('lists newest first, page by page, by sandbox and template', async () => {
      for (const [index, id] of ['a', 'b', 'c', 'd'].entries()) {
        const createdAt = start + Math.min(index, 2);
        await make(id, {}, { createdAt, sandboxId: index % 2 === 0 ? 'i1' : 'i2' });
      }
      expect(await listed()).toEqual(['d', 'c', 'b', 'a']);
      expect(await listed({ limit: 2 })).toEqual(['d', 'c']);
      expect(await listed({ after: { createdAt: start + 2, id: 'd' } })).toEqual(['c', 'b', 'a']);
      expect(await listed({ after: { createdAt: start + 2, id: 'c' }, limit: 1 })).toEqual(['b']);
      expect(await listed({ sandboxId: 'i2' })).toEqual(['d', 'b']);
      expect(await listed({ templateId: 'tc' })).toEqual(['c']);
    });

    it('deletes a tag or a whole template, unless a sandbox that began with it exists', async () => {
      await make('s1', { name: 'prepared' });
      await make('s2', { name: 'prepared', tag: 'v2' });
      expect(await begin('i2', 's2', 'ts1')).toBe('reserved');
      const retire = (tag?: string) => ask().retireSnapshots({ templateId: 'ts1', ...(tag && { tag }) });
      expect(await retire('v2')).toBe('in_use');
      expect(await retire()).toBe('in_use');
      expect(await ask().retireSnapshots({ templateId: 'ts1', buildId: 's2' })).toBe('in_use');
      expect(await listed()).toEqual(['s2', 's1']);
      expect(await retire('default')).toBe('retired');
      expect(await retire('default')).toBe('not_found');
      expect(await ask().listSnapshotIds('removing')).toEqual(['s1']);
      await make('s0', { name: 'prepared', tag: 'v3' });
      expect(await ask().retireSnapshots({ templateId: 'ts1', buildId: 's0' })).toBe('retired');
      await ask().forgetSnapshot('s0');
      expect(await ask().findSnapshot('ts1', 'v3')).toBeUndefined();
      await end('i2');
      expect(await retire()).toBe('retired');
      expect(await retire()).toBe('not_found');
      expect(await ask().findNamedTemplate({ project: 'local', name: 'prepared' })).toBeUndefined();
      expect(await ask().listSnapshotIds('removing')).toEqual(['s1', 's2']);
      expect(await begin('i3', 's2', 'ts1')).toBe('no_snapshot');
      expect(await make('s3', { name: 'prepared' })).toMatchObject({ templateId: 'ts3' });
    });

    it('keeps a snapshot without a tag while a sandbox that began with it exists', async () => {
      await make('s1', { name: 'prepared' });
      await begin('i2', 's1', 'ts1');
      await make('s2', { name: 'prepared' });
      await ask().retireUnused();
      expect(await ask().listSnapshotIds('removing')).toEqual([]);
      await end('i2');
      await ask().retireUnused();
      expect(await ask().listSnapshotIds('removing')).toEqual(['s1']);
    });

    it('keeps the row of a removed snapshot while another one descends from it', async () => {
      await make('s1');
      await make('s2', {}, { parentId: 's1' });
      for (const templateId of ['ts1', 'ts2']) await ask().retireSnapshots({ templateId });
      await ask().forgetSnapshot('s1');
      expect(await ask().findSnapshotRow('s1')).toMatchObject({ state: 'removed' });
      await ask().forgetSnapshot('s2');
      await ask().forgetSnapshot('s2');
      expect(await ask().findSnapshotRow('s1')).toBeUndefined();
    });
  });
};
