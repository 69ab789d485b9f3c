import { describe, expect, it } from 'vitest';
import { emptyRunConfig } from '../build-rows.ts';
import type { NewCacheEntry } from '../cache/cache-rows.ts';
import type { Store } from '../store.ts';

const size = { cpuCount: 1, memoryMb: 128, diskMb: 100 };

const result = (key: string, more: Partial<NewCacheEntry> = {}): NewCacheEntry => ({
  key,
  parent: null,
  description: `RUN ${key}`,
  snapshotId: null,
  image: null,
  imageBytes: null,
  config: null,
  createdAt: 1,
  ...more,
});

/** How a store keeps the results of steps of builds: a part of `describeStore`. */
export const describeCache = (ask: () => Store): void => {
  const keep = (entry: NewCacheEntry, replaces = false) => ask().keepCached(entry, { replaces });
  const listed = async () => (await ask().listCached()).map(({ key }) => key);

  describe('the cache of builds', () => {
    it('joins what two equal results have, and makes the snapshot of one ready', async () => {
      const of = {
        sandboxId: 'i1',
        parentId: null,
        isolation: 'container' as const,
        buildId: null,
        kind: 'filesystem' as const,
      };
      await ask().beginSnapshot({ id: 'n1', project: 'local', ...of, createdAt: 1, ...size });
      const bytes = 5 * 2 ** 32;
      const config = {
        ...{ env: { A: 'b' }, user: 'u', workdir: '/w', entrypoint: [], command: ['serve'] },
        ...{ healthcheck: ['check'], onbuild: ['RUN true'], exposedPorts: [80] },
      };
      expect(await keep(result('a', { snapshotId: 'n1', config }))).toBe(true);
      expect(await ask().findSnapshotRow('n1')).toMatchObject({ state: 'ready' });
      const image = { image: 'sha256:a', imageBytes: bytes, config };
      expect(await keep(result('a', { ...image, createdAt: 4 }))).toBe(true);
      const both = { ...result('a', image), snapshotId: 'n1', lastUsedAt: 4, isImageShared: false };
      expect(await ask().findCached(['a', 'none'])).toEqual([both]);
      expect(await ask().retireImages()).toEqual(['sha256:a']);

      const build = { id: 'b1', createdAt: 1, ...size, minFreeDiskMb: 0, isolation: null, tags: ['default'] };
      await ask().addBuild(
        { ...build, project: 'local' },
        { templateId: 't1', name: 'made', superseded: '' },
      );
      await ask().startBuild('b1', 2);
      const rest = { env: {}, runConfig: emptyRunConfig, start: null, checkpointId: null, isolation: null };
      await ask().finishBuild('b1', { finishedAt: 3, image: 'sha256:a', imageBytes: bytes, ...rest });
      expect(await ask().listCached()).toEqual([{ ...both, isImageShared: true }]);
      expect(await ask().retireImages()).toEqual(['sha256:a']);
    });

    it('removes a result with all that were made on it, and keeps none without the one before it', async () => {
      for (const [key, parent] of [
        ['a', null],
        ['b', 'a'],
        ['c', 'b'],
        ['d', null],
      ] as const)
        expect(await keep(result(key, { parent }))).toBe(true);
      expect(await keep(result('a', { createdAt: 2 }), true)).toBe(true);
      expect(await listed()).toEqual(['a', 'd']);
      expect(await keep(result('c', { parent: 'b' }))).toBe(false);
      await keep(result('b', { parent: 'a' }));
      expect((await ask().removeCached(['a', 'none'])).toSorted()).toEqual(['a', 'b']);
      expect(await ask().removeCached([])).toEqual([]);
      expect(await listed()).toEqual(['d']);
    });

    it('lists what was used last first, with what it was made on before it', async () => {
      await keep(result('a'));
      await keep(result('b', { parent: 'a', createdAt: 2 }));
      await keep(result('c', { createdAt: 3 }));
      expect(await listed()).toEqual(['c', 'a', 'b']);
      await ask().touchCached('b', 4);
      expect(await listed()).toEqual(['a', 'b', 'c']);
      expect(await ask().findCached([])).toEqual([]);
    });

    it('frees the snapshots and images of results that are removed or replaced, and none that anything else needs', async () => {
      const of = {
        sandboxId: 'i1',
        parentId: null,
        isolation: 'container' as const,
        buildId: null,
        kind: 'filesystem' as const,
      };
      for (const id of ['n1', 'n2', 'n3', 'n4'])
        await ask().beginSnapshot({ id, project: 'local', ...of, createdAt: 1, ...size });
      const image = (name: string) => ({ image: name, imageBytes: 1 });
      await keep(result('base', image('base')));
      await keep(result('one', { parent: 'base', snapshotId: 'n1' }));
      await keep(result('two', { parent: 'one', snapshotId: 'n2' }));
      await keep(result('end', { parent: 'two', ...image('made') }));
      await keep(result('other', { parent: 'two', ...image('other') }));
      const build = { id: 'b1', createdAt: 1, ...size, minFreeDiskMb: 0, isolation: null, tags: ['default'] };
      await ask().addBuild(
        { ...build, project: 'local' },
        { templateId: 't1', name: 'made', superseded: '' },
      );
      await ask().startBuild('b1', 2);
      const rest = { env: {}, runConfig: emptyRunConfig, start: null, checkpointId: null, isolation: null };
      await ask().finishBuild('b1', { finishedAt: 3, ...image('made'), ...rest });
      const ready = async () => {
        await ask().retireUnused();
        return (await ask().listSnapshotIds('ready')).toSorted();
      };
      expect(await ready()).toEqual(['n1', 'n2']);
      expect((await ask().retireImages()).toSorted()).toEqual(['base', 'made', 'other']);

      await keep(result('two', { parent: 'one', snapshotId: 'n3', createdAt: 2 }), true);
      expect(await listed()).toEqual(['base', 'one', 'two']);
      expect(await ready()).toEqual(['n1', 'n3']);
      expect(await ask().listSnapshotIds('removing')).toEqual(['n2']);
      // One that is still made is no result yet.
      expect(await ask().listSnapshotIds('making')).toEqual(['n4']);
      expect((await ask().retireImages()).toSorted()).toEqual(['base', 'made']);

      expect((await ask().removeCached(['one'])).toSorted()).toEqual(['one', 'two']);
      expect(await ready()).toEqual([]);
      expect((await ask().retireImages()).toSorted()).toEqual(['base', 'made']);
      expect(await ask().retireTemplate({ templateId: 't1' })).toBe('retired');
      expect(await ask().retireImages()).toEqual(['base']);
      expect(await ask().removeCached(['base'])).toEqual(['base']);
      expect(await ask().retireImages()).toEqual([]);
    });

    it('removes as many results at once as there can be', async () => {
      const keys = Array.from({ length: 1_001 }, (_, index) => `k${index}`);
      for (const key of keys) await keep(result(key));
      expect(await ask().findCached(keys)).toHaveLength(1_001);
      expect(await ask().removeCached(keys)).toHaveLength(1_001);
      expect(await listed()).toEqual([]);
    });
  });
};
