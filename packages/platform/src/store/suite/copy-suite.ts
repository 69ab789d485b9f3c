import { describe, expect, it } from 'vitest';
import type { CopySubject } from '../blob-copies/copy-rows.ts';
import { emptyRunConfig } from '../build-rows.ts';
import type { NewSandbox } from '../rows.ts';
import type { Store } from '../store.ts';

/** How a store keeps the copies in the blob store: a part of `describeStore`. */
export const describeBlobCopies = (
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
  const begin = (id: string, of: CopySubject, by = ask()) =>
    by.beginBlobCopy({ id, of, lease: 'a', createdAt: 1 });
  const missingCopies = async () => (await ask().listMissingCopies()).map(({ kind, id }) => `${kind} ${id}`);
  const none = () => false;

  describe('copies in the blob store', () => {
    it('are wanted of each pause on a node, until there is one of that pause', async () => {
      await pause('i2', 20);
      await pause('i1', 10);
      await pause('i3', 5, null);
      await ask().reserveSandbox(sandbox('i4'), { maxActive: 9, place });
      expect(await ask().listMissingCopies()).toEqual([
        { kind: 'sandbox', id: 'i1', node: 'a', pausedAt: 10 },
        { kind: 'sandbox', id: 'i2', node: 'a', pausedAt: 20 },
      ]);
      await begin('c1', { sandboxId: 'i1', pausedAt: 10 });
      expect(await missingCopies()).toEqual(['sandbox i2']);
      expect(await ask().findBlobCopy({ sandboxId: 'i1', pausedAt: 10 })).toBeUndefined();
      expect(await ask().finishBlobCopy('c1', result)).toBe(true);
      expect(await ask().finishBlobCopy('c1', result)).toBe(false);
      const of = { sandboxId: 'i1', pausedAt: 10 };
      const row = { id: 'c1', state: 'complete', of, createdAt: 1, ...result };
      expect(await ask().findBlobCopy({ sandboxId: 'i1', pausedAt: 10 })).toEqual(row);
      expect(await ask().findBlobCopy({ sandboxId: 'i1', pausedAt: 11 })).toBeUndefined();
      await run('i1');
      await pause('i1', 30);
      expect(await missingCopies()).toEqual(['sandbox i2', 'sandbox i1']);
    });

    it('are removed when their sandbox runs or has ended, and when no process makes them', async () => {
      for (const [index, id] of ['i1', 'i2', 'i3', 'i4'].entries()) {
        await pause(id, index);
        await begin(`c${id}`, { sandboxId: id, pausedAt: index });
      }
      expect(await ask().retireBlobCopies((id) => id !== 'ci4')).toEqual(['ci4']);
      expect(await ask().finishBlobCopy('ci4', result)).toBe(false);
      for (const id of ['ci1', 'ci2', 'ci3']) await ask().finishBlobCopy(id, result);
      await ask().forgetBlobCopy('ci4');
      expect(await ask().retireBlobCopies(none)).toEqual([]);
      const resume = { endAt: 99, maxActive: 100, place };
      expect(await ask().reserveResume('i1', resume)).toBe('reserved');
      expect(await ask().retireBlobCopies(none)).toEqual([]);
      await run('i1');
      await ask().changeState('i2', { from: ['paused'], to: 'killing' });
      expect(await ask().retireBlobCopies(none)).toEqual(['ci1', 'ci2']);
      expect(await missingCopies()).toEqual(['sandbox i4']);
    });

    it('are wanted of snapshots with a tag on a node, and removed with those', async () => {
      const size = { cpuCount: 1, memoryMb: 1, diskMb: 1 };
      const snapshot = {
        project: 'local',
        parentId: null,
        isolation: 'container' as const,
        buildId: null,
        kind: 'memory' as const,
        createdAt: 1,
        ...size,
      };
      for (const id of ['s1', 's2', 's3'])
        await ask().beginSnapshot({ id, sandboxId: 'i1', ...snapshot, node: id === 's3' ? null : 'a' });
      for (const id of ['s1', 's3'])
        await ask().publishSnapshot(id, { templateId: `t${id}`, name: null, tag: 'default' });
      expect(await missingCopies()).toEqual(['snapshot s1']);
      await begin('c1', { snapshotId: 's1' });
      expect(await missingCopies()).toEqual([]);
      expect(await ask().detachSnapshot('s1')).toBe(false);
      await ask().finishBlobCopy('c1', result);
      expect(await ask().findBlobCopy({ snapshotId: 's1' })).toMatchObject({ id: 'c1', ...result });
      expect(await ask().retireBlobCopies(none)).toEqual([]);
      expect(await ask().moveSnapshot('s1', { from: 'b', to: 'a' })).toBe(false);
      expect(await ask().moveSnapshot('s1', { from: 'a', to: 'b' })).toBe(true);
      expect(await ask().moveSnapshot('s2', { from: 'a', to: 'b' })).toBe(false);
      const homes = () =>
        Promise.all(['s1', 's2'].map(async (id) => (await ask().findSnapshotRow(id))?.node));
      expect(await homes()).toEqual(['b', 'a']);
      expect(await ask().detachSnapshot('s1')).toBe(true);
      expect(await ask().moveSnapshot('s1', { from: null, to: 'a' })).toBe(true);
      await ask().detachNode('a');
      expect(await homes()).toEqual([null, 'a']);
      await ask().retireSnapshots({ templateId: 'ts1' });
      expect(await ask().retireBlobCopies(none)).toEqual(['c1']);
      expect(await ask().findBlobCopy({ snapshotId: 's1' })).toBeUndefined();
      expect(await ask().listBlobCopyIds()).toEqual(['c1']);
      await ask().forgetBlobCopy('c1');
      expect(await ask().listBlobCopyIds()).toEqual([]);
    });

    it('free a node of the sandboxes that have one, which can be resumed on another', async () => {
      for (const id of ['i1', 'i2', 'i3']) await pause(id, 1);
      for (const id of ['i1', 'i2']) {
        await begin(`c${id}`, { sandboxId: id, pausedAt: 1 });
        await ask().finishBlobCopy(`c${id}`, result);
      }
      expect(await ask().detachSandbox('i3')).toBe(false);
      expect(await ask().detachSandbox('i1')).toBe(true);
      expect(await ask().findSandbox('i1')).toMatchObject({ node: null, state: 'paused' });
      await ask().detachNode('a');
      const on = async (id: string) => (await ask().findSandbox(id))?.node;
      expect([await on('i2'), await on('i3')]).toEqual([null, 'a']);
      expect(await missingCopies()).toEqual(['sandbox i3']);
      const move = { endAt: 9, maxActive: 100, place: { node: 'b', maxActive: 1 }, moves: true };
      expect(await ask().reserveResume('i1', move)).toBe('reserved');
      expect(await ask().reserveResume('i2', move)).toBe('node_full');
      expect([await on('i1'), await on('i2')]).toEqual(['b', null]);
      await ask().changeState('i1', { from: ['resuming'], to: 'paused', set: { node: null } });
      expect(await on('i1')).toBeNull();
      await pause('i4', 1);
      expect(await ask().reserveResume('i4', move)).toBe('not_paused');
    });

    it('are wanted of the images of builds, and removed with the last build of an image', async () => {
      const build = async (id: string, name: string) => {
        const size = { cpuCount: 1, memoryMb: 1, diskMb: 1, minFreeDiskMb: 0, isolation: null };
        await ask().addBuild(
          { project: 'local', id, createdAt: 1, tags: ['default'], ...size },
          { templateId: `t${id}`, name, superseded: '' },
        );
        await ask().startBuild(id, 2);
        const made = {
          image: 'sha256:i',
          imageBytes: 1,
          env: {},
          runConfig: emptyRunConfig,
          start: null,
          checkpointId: null,
          isolation: null,
        };
        await ask().finishBuild(id, { finishedAt: 3, ...made });
      };
      await build('b1', 'one');
      await build('b2', 'two');
      expect(await ask().listMissingCopies()).toEqual([{ kind: 'image', id: 'sha256:i' }]);
      await begin('c1', { image: 'sha256:i' });
      expect(await missingCopies()).toEqual([]);
      await ask().finishBlobCopy('c1', { ...result, imageBytes: 2 ** 41 });
      expect(await ask().findBlobCopy({ image: 'sha256:i' })).toMatchObject({
        id: 'c1',
        imageBytes: 2 ** 41,
      });
      await ask().retireTemplate({ templateId: 'tb1' });
      await ask().retireImages();
      expect(await ask().retireBlobCopies(none)).toEqual([]);
      await ask().retireTemplate({ templateId: 'tb2' });
      await ask().retireImages();
      expect(await ask().retireBlobCopies(none)).toEqual(['c1']);
    });

    it('are finished and used by the owner of a node alone, and retired when another one has it', async () => {
      const claim = (owner: string, leaseMs: number, name = 'a') =>
        ask().claimNode({ name, address: '10.0.0.1:7400' }, { owner, address: `${owner}:1`, leaseMs });
      const [one, two] = [ask().ownedBy('one'), ask().ownedBy('two')];
      await claim('one', 0);
      await claim('two', 60_000, 'b');
      await pause('i1', 1);
      await pause('i2', 1);
      await begin('c1', { sandboxId: 'i1', pausedAt: 1 }, one);
      await begin('c2', { sandboxId: 'i2', pausedAt: 1 }, one);
      expect(await two.finishBlobCopy('c1', result)).toBe(false);
      expect(await two.retireBlobCopies(none)).toEqual([]);
      expect(await one.finishBlobCopy('c1', result)).toBe(true);
      const refused = { code: 'unavailable', headers: { 'Retry-After': '1' } };
      await expect(two.detachSandbox('i1')).rejects.toMatchObject(refused);
      await claim('two', 60_000);
      await expect(begin('c3', { sandboxId: 'i2', pausedAt: 1 }, one)).rejects.toMatchObject(refused);
      await expect(one.finishBlobCopy('c2', result)).rejects.toMatchObject(refused);
      expect(await two.retireBlobCopies(none)).toEqual(['c2']);
      expect(await one.finishBlobCopy('c2', result)).toBe(false);
      for (const write of [
        () => one.detachSandbox('i1'),
        () => one.detachNode('a'),
        () => one.moveSnapshot('s1', { from: 'b', to: 'a' }),
        () => one.reserveResume('i1', { endAt: 9, maxActive: 9, place, moves: true }),
      ])
        await expect(write()).rejects.toMatchObject(refused);
      const move = { endAt: 9, maxActive: 9, place: { node: 'b', maxActive: 1 }, moves: true };
      const both = await Promise.all([two.reserveResume('i1', move), two.reserveResume('i1', move)]);
      expect(both.map(String).toSorted()).toEqual(['not_paused', 'reserved']);
      expect(await ask().findSandbox('i1')).toMatchObject({ node: 'b', state: 'resuming' });
    });
  });
};
