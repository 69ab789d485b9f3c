import { describe, expect, it } from 'vitest';
import type { NewSandbox } from '../rows.ts';
import type { Store } from '../store.ts';

/** How a store keeps nodes and what is on them: a part of `describeStore`. */
export const describeNodes = (
  ask: () => Store,
  { sandbox }: { sandbox: (id: string, more?: Partial<NewSandbox>) => NewSandbox },
): void => {
  const claim = (name: string, address = '10.0.0.1:7400') => ask().claimNode({ name, address });
  const reserve = (id: string, node: string, maxActive = 10) =>
    ask().reserveSandbox(sandbox(id), { maxActive: 100, place: { node, maxActive } });
  const move = (id: string, to: 'running' | 'paused' | 'ended') =>
    ask().changeState(id, { from: ['starting', 'running', 'paused'], to });
  const snapshot = {
    ...{
      project: 'local',
      sandboxId: 'i1',
      parentId: null,
      isolation: 'container' as const,
      buildId: null,
      kind: 'filesystem' as const,
      createdAt: 1,
    },
    ...{ cpuCount: 1, memoryMb: 1, diskMb: 1 },
  };

  describe('nodes', () => {
    it('have an epoch that rises with each claim, and keep their cordon', async () => {
      expect(await claim('b')).toEqual({
        ...{ name: 'b', address: '10.0.0.1:7400', epoch: 1, cordoned: false, seenAt: null },
        ...{ lostAt: null, status: null },
      });
      expect(await ask().setCordoned('b', true)).toMatchObject({ cordoned: true });
      expect(await claim('b', '10.0.0.2:7400')).toMatchObject({
        epoch: 2,
        cordoned: true,
        address: '10.0.0.2:7400',
      });
      await claim('a');
      expect((await ask().listNodes()).map(({ name }) => name)).toEqual(['a', 'b']);
      expect(await ask().setCordoned('none', true)).toBeUndefined();
    });

    it('are lost until they are seen again', async () => {
      await claim('a');
      await ask().noteNodeLost('a', 5);
      expect(await ask().listNodes()).toMatchObject([{ seenAt: null, lostAt: 5 }]);
      await ask().noteNodeSeen('a', 7);
      expect(await ask().listNodes()).toMatchObject([{ seenAt: 7, lostAt: null }]);
    });

    it('have no more sandboxes at a time than they have places, also after a resume', async () => {
      const atOnce = await Promise.all(['c1', 'c2', 'c3', 'c4'].map((id) => reserve(id, 'c', 2)));
      expect(atOnce.map(String).toSorted()).toEqual(['node_full', 'node_full', 'reserved', 'reserved']);
      expect([await reserve('i1', 'a', 2), await reserve('i2', 'a', 2)]).toEqual(['reserved', 'reserved']);
      expect(await reserve('i3', 'a', 2)).toBe('node_full');
      expect(await reserve('i5', 'b', 2)).toBe('reserved');
      expect(await ask().findSandbox('i5')).toMatchObject({ node: 'b' });
      await move('i1', 'running');
      await move('i1', 'paused');
      expect(await reserve('i6', 'a', 2)).toBe('reserved');
      const resume = { endAt: 9, maxActive: 100, place: { node: 'a', maxActive: 2 } };
      expect(await ask().reserveResume('i1', resume)).toBe('node_full');
      await move('i2', 'ended');
      expect(await ask().reserveResume('i1', resume)).toBe('reserved');
    });

    it('are counted with their sandboxes by state and level, and those on no node apart, without ended ones', async () => {
      await reserve('i1', 'a');
      await reserve('i2', 'a');
      await reserve('i3', 'b');
      await ask().reserveSandbox({ ...sandbox('i4'), isolation: 'gvisor' }, { maxActive: 100 });
      for (const id of ['i1', 'i2', 'i3']) await move(id, 'running');
      await move('i2', 'paused');
      await move('i3', 'ended');
      const counts = await ask().countByState();
      expect(counts).toHaveLength(3);
      expect(counts).toEqual(
        expect.arrayContaining([
          { node: 'a', state: 'running', isolation: 'container', count: 1 },
          { node: 'a', state: 'paused', isolation: 'container', count: 1 },
          { node: null, state: 'starting', isolation: 'gvisor', count: 1 },
        ]),
      );
    });

    it('are named with the reason in the log of a sandbox that is placed or moved there', async () => {
      await ask().reserveSandbox(sandbox('i1'), {
        maxActive: 9,
        place: { node: 'a', maxActive: 1, reason: 'it is empty' },
      });
      await ask().movePlace('i1', { node: 'b', maxActive: 1, reason: 'a is full' });
      await ask().reserveSandbox(sandbox('i2'), { maxActive: 9 });
      const read = (sandboxId: string, logger: string) =>
        ask().listLogEntries({ sandboxId, logger, order: 'asc', limit: 10 });
      expect((await read('i1', 'platform')).map(({ fields }) => fields)).toEqual([
        { node: 'a', reason: 'it is empty' },
        { node: 'b', reason: 'a is full' },
      ]);
      expect([await read('i1', 'agent'), await read('i2', 'platform')]).toEqual([[], []]);
    });

    it('take over a start from another node, unless they are full', async () => {
      await reserve('i1', 'a');
      await reserve('i2', 'b');
      expect(await ask().movePlace('i1', { node: 'b', maxActive: 1 })).toBe('node_full');
      expect(await ask().movePlace('i1', { node: 'c', maxActive: 1 })).toBe('moved');
      expect(await ask().findSandbox('i1')).toMatchObject({ node: 'c' });
      await move('i1', 'running');
      expect(await ask().movePlace('i1', { node: 'b', maxActive: 9 })).toBe('not_starting');
    });

    it('are measured by what is on them, and their sandboxes can be listed', async () => {
      await reserve('i1', 'a');
      await reserve('i2', 'a');
      await reserve('i3', 'b');
      await reserve('i4', 'b');
      await move('i2', 'paused');
      await move('i4', 'ended');
      await ask().reserveSandbox(sandbox('i5'), { maxActive: 100 });
      await ask().beginSnapshot({ ...snapshot, id: 's1', node: 'b' });
      expect(await ask().measureNodes()).toEqual([
        { name: 'a', placed: 1, memoryMb: 1024, others: 1, snapshots: 0 },
        { name: 'b', placed: 1, memoryMb: 1024, others: 0, snapshots: 1 },
      ]);
      const query = { states: ['starting', 'paused'] as const, order: 'asc' as const };
      const rows = await ask().listSandboxes({ ...query, nodes: ['a'] });
      expect(rows.map(({ id }) => id).sort()).toEqual(['i1', 'i2']);
      const list = async (nodes: (string | null)[]) =>
        (await ask().listSandboxes({ ...query, nodes })).map(({ id }) => id).sort();
      expect([await list([]), await list([null]), await list(['b'])]).toEqual([[], ['i5'], ['i3']]);
      expect(await list(['a', 'b', null])).toEqual(['i1', 'i2', 'i3', 'i5']);
    });

    it('are forgotten when nothing is on them, with the snapshots that are being removed', async () => {
      await claim('a');
      await reserve('i1', 'a');
      expect(await ask().forgetNode('a')).toBe('in_use');
      for (const node of ['a', 'b']) await ask().addWarm({ id: `w${node}`, spec: '', createdAt: 1, node });
      await move('i1', 'ended');
      await ask().beginSnapshot({ ...snapshot, id: 's1', node: 'a' });
      expect(await ask().forgetNode('a')).toBe('in_use');
      await ask().publishSnapshot('s1', { templateId: 't1', name: 'prepared', tag: 'default' });
      await ask().retireSnapshots({ templateId: 't1' });
      expect(await ask().listSnapshotIds('removing')).toEqual(['s1']);
      expect(await ask().forgetNode('a')).toBe('forgotten');
      expect(await ask().listSnapshotIds('removing')).toEqual([]);
      expect(await ask().listNodes()).toEqual([]);
      expect(await ask().listWarm()).toMatchObject([{ id: 'wb' }]);
      expect(await ask().forgetNode('a')).toBe('not_found');
    });
  });
};
