import { describe, expect, it } from 'vitest';
import { emptyRunConfig } from '../build-rows.ts';
import type { Store } from '../store.ts';

/** How a store keeps the tags of templates: a part of `describeStore`. */
export const describeTags = (ask: () => Store): void => {
  const templateId = 't1';
  const begin = async (id: string, createdAt: number, tags: readonly string[]): Promise<void> => {
    const build = {
      id,
      createdAt,
      cpuCount: 1,
      memoryMb: 128,
      diskMb: 100,
      minFreeDiskMb: 0,
      isolation: null,
      tags,
    };
    await ask().addBuild({ ...build, project: 'local' }, { templateId, name: 'made', superseded: 'later' });
    await ask().startBuild(id, createdAt);
  };
  const finish = (id: string, finishedAt: number, checkpointId: string | null = null) => {
    const start = { startCmd: 'serve', readyCmd: null, user: 'user', workdir: '/', env: { A: 'b' } };
    const result = {
      finishedAt,
      image: `image-${id}`,
      imageBytes: 1,
      env: {},
      runConfig: emptyRunConfig,
      start,
      checkpointId,
      isolation: null,
    };
    return ask().finishBuild(id, result);
  };
  const make = async (id: string, createdAt: number, tags: readonly string[]): Promise<void> => {
    await begin(id, createdAt, tags);
    await finish(id, createdAt + 1);
  };

  describe('the tags of a template', () => {
    it('are listed by name with their builds and the time at which they were set', async () => {
      await make('b1', 10, ['v1', 'default']);
      expect(await ask().assignTags({ buildId: 'b1', tags: ['stable'], at: 20 })).toBe(true);
      expect(await ask().listBuildTags(templateId)).toEqual([
        { tag: 'default', buildId: 'b1', assignedAt: 11 },
        { tag: 'stable', buildId: 'b1', assignedAt: 20 },
        { tag: 'v1', buildId: 'b1', assignedAt: 11 },
      ]);
    });

    it('move to the build of the last assignment, and the image that loses its last tag is retired', async () => {
      await make('b1', 10, ['v1', 'stable']);
      await make('b2', 20, ['v2']);
      expect(await ask().assignTags({ buildId: 'b2', tags: ['stable', 'v1'], at: 30 })).toBe(true);
      expect(await ask().findTaggedBuild(templateId, 'stable')).toMatchObject({ id: 'b2' });
      expect(await ask().findBuild('b1')).toMatchObject({ image: null });
      for (const buildId of ['b1', 'b3'])
        expect(await ask().assignTags({ buildId, tags: ['stable'], at: 40 })).toBe(false);
      expect(await ask().findTaggedBuild(templateId, 'stable')).toMatchObject({ id: 'b2' });
    });

    it('stay where they were assigned when a build that was registered before ends after', async () => {
      await make('b1', 10, ['v1']);
      await begin('b2', 20, ['default']);
      await ask().assignTags({ buildId: 'b1', tags: ['default'], at: 30 });
      await finish('b2', 40);
      expect(await ask().findTaggedBuild(templateId, 'default')).toMatchObject({ id: 'b1' });
      await make('b3', 50, ['default']);
      expect(await ask().findTaggedBuild(templateId, 'default')).toMatchObject({ id: 'b3' });
    });

    it('are deleted together or not at all', async () => {
      await make('b1', 10, ['a', 'b', 'c']);
      expect(await ask().deleteTags({ templateId, tags: ['a', 'none'] })).toBe('none');
      expect(await ask().findTaggedBuild(templateId, 'a')).toMatchObject({ id: 'b1' });
      expect(await ask().deleteTags({ templateId, tags: ['a', 'b'] })).toBeUndefined();
      expect((await ask().listBuildTags(templateId)).map(({ tag }) => tag)).toEqual(['c']);
      expect(await ask().findBuild('b1')).toMatchObject({ image: 'image-b1' });
    });
  });

  describe('the checkpoint of a build', () => {
    it('is ready with its build, and is removed before the image when no tag points to it', async () => {
      await begin('b1', 10, ['default']);
      const size = { cpuCount: 1, memoryMb: 128, diskMb: 100 };
      const of = {
        sandboxId: 'i1',
        parentId: null,
        isolation: 'container' as const,
        buildId: 'b1',
        kind: 'memory' as const,
        createdAt: 11,
      };
      await ask().beginSnapshot({ id: 'n1', project: 'local', ...of, ...size });
      expect(await finish('b1', 12, 'n1')).toMatchObject({
        checkpointId: 'n1',
        start: { startCmd: 'serve' },
      });
      await ask().retireUnused();
      expect(await ask().listSnapshotIds('ready')).toEqual(['n1']);
      expect(await ask().listSnapshots({})).toEqual([]);
      await make('b2', 20, ['default']);
      await ask().retireUnused();
      expect(await ask().listSnapshotIds('removing')).toEqual(['n1']);
      expect(await ask().retireImages()).toContain('image-b1');
      await ask().forgetSnapshot('n1');
      expect(await ask().retireImages()).toEqual(['image-b2']);
    });
  });

  describe('a template', () => {
    it('is private until it is made public', async () => {
      await make('b1', 10, ['default']);
      expect(await ask().findNamedTemplate({ project: 'local', name: 'made' })).toMatchObject({
        public: false,
      });
      expect(await ask().setPublic(templateId, true)).toBe(true);
      expect(await ask().findNamedTemplate({ project: 'local', name: 'made' })).toMatchObject({
        public: true,
      });
      expect((await ask().listTemplates())[0]?.template.public).toBe(true);
      expect(await ask().setPublic('none', true)).toBe(false);
    });

    it('lists its builds in pages, newest first', async () => {
      for (const [index, id] of ['b1', 'b2', 'b3'].entries()) await make(id, index * 10, [id]);
      const list = async (page: Parameters<Store['listBuilds']>[1]) =>
        (await ask().listBuilds(templateId, page)).map(({ id }) => id);
      expect(await list({ limit: 2 })).toEqual(['b3', 'b2']);
      expect(await list({ limit: 2, after: { createdAt: 10, id: 'b2' } })).toEqual(['b1']);
    });
  });
};
