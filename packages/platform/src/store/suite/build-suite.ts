import { describe, expect, it } from 'vitest';
import type { BuildResult, BuildRow } from '../build-rows.ts';
import type { NewSandbox, TemplateQuery } from '../rows.ts';
import type { Store } from '../store.ts';
import { newSandbox } from './new-sandbox.ts';

/** How a store keeps builds: a part of `describeStore`. */
export const describeBuilds = (ask: () => Store): void => {
  const size = { cpuCount: 2, memoryMb: 512, diskMb: 100 };
  const later = 'a later build was registered';

  const add = async (
    id: string,
    { name = 'made', tags = ['default'], createdAt = 1 } = {},
  ): Promise<BuildRow> => {
    const build = { id, createdAt, ...size, minFreeDiskMb: 7, isolation: null, tags };
    const row = await ask().addBuild(
      { ...build, project: 'local' },
      { templateId: `t-${name}`, name, superseded: later },
    );
    if (typeof row === 'string') throw new Error(`refused: ${row}`);
    return row;
  };

  const result = (image: string): BuildResult => ({
    finishedAt: 9,
    image,
    imageBytes: 4096,
    env: { A: 'b' },
    runConfig: { user: 'worker:staff', workdir: '/srv', env: { A: 'b', TOKEN: 'set by a step' } },
    start: null,
    checkpointId: null,
    isolation: 'gvisor' as const,
  });

  const make = async (id: string, image: string, options = {}): Promise<BuildRow> => {
    await add(id, options);
    await ask().startBuild(id, 2);
    const row = await ask().finishBuild(id, result(image));
    if (row === undefined) throw new Error('not building');
    return row;
  };

  const sandbox = (id: string, more: Partial<NewSandbox>): NewSandbox =>
    newSandbox(id, { templateId: 't-made', templateName: 'made', ...size, ...more });

  const reserve = (id: string, more: Partial<NewSandbox>) =>
    ask().reserveSandbox(sandbox(id, more), { maxActive: 10 });

  describe('the builds of a store', () => {
    it('are refused beyond the most that may be unfinished, but for one that supersedes another', async () => {
      const request = (id: string, name: string) => {
        const build = { id, createdAt: 1, ...size, minFreeDiskMb: 0, isolation: null, tags: ['default'] };
        return ask().addBuild(
          { ...build, project: 'local' },
          { templateId: `t-${name}`, name, superseded: later, maxUnfinished: 2 },
        );
      };
      expect(await request('b1', 'one')).toMatchObject({ state: 'waiting' });
      await ask().startBuild('b1', 2);
      expect(await request('b2', 'two')).toMatchObject({ state: 'waiting' });
      expect(await request('b3', 'three')).toBe('limit');
      expect(await ask().findNamedTemplate({ project: 'local', name: 'three' })).toBeUndefined();
      expect(await request('b4', 'two')).toMatchObject({ state: 'waiting' });
      await ask().finishBuild('b1', result('image-1'));
      expect(await request('b5', 'three')).toMatchObject({ state: 'waiting' });
    });

    it('leaves a tag with the newer build when an older one finishes later', async () => {
      await add('older', { createdAt: 1, tags: ['default', 'v1'] });
      await ask().startBuild('older', 2);
      await make('newer', 'image-2', { createdAt: 3 });
      await ask().finishBuild('older', result('image-1'));
      expect(await ask().findTaggedBuild('t-made', 'default')).toMatchObject({ id: 'newer' });
      expect(await ask().findTaggedBuild('t-made', 'v1')).toMatchObject({ id: 'older' });
    });

    it('wait, build and are ready, each once', async () => {
      expect(await add('b1')).toMatchObject({ id: 'b1', templateId: 't-made', state: 'waiting', env: {} });
      expect(await ask().finishBuild('b1', result('i1'))).toBeUndefined();
      expect(await ask().startBuild('b1', 5)).toMatchObject({ state: 'building', startedAt: 5 });
      expect(await ask().startBuild('b1', 6)).toBeUndefined();
      expect(await ask().listBuildIds('building')).toEqual(['b1']);
      expect(await ask().findTaggedBuild('t-made', 'default')).toBeUndefined();
      const ready = {
        state: 'ready',
        finishedAt: 9,
        image: 'i1',
        imageBytes: 4096,
        env: { A: 'b' },
        runConfig: result('i1').runConfig,
        ...size,
      };
      expect(await ask().finishBuild('b1', result('i1'))).toMatchObject(ready);
      expect(await ask().findTaggedBuild('t-made', 'default')).toMatchObject({ id: 'b1' });
      const reason = { message: 'too late' };
      expect(await ask().failBuild('b1', { finishedAt: 10, reason })).toBeUndefined();
      expect(await ask().findBuild('b1')).toMatchObject({ ...ready, minFreeDiskMb: 7 });
    });

    it('fail with their reason, and a waiting one when the next of its template is registered', async () => {
      await add('b1');
      await add('other', { name: 'another' });
      await add('b2', { createdAt: 3 });
      expect(await ask().findBuild('b1')).toMatchObject({
        state: 'error',
        finishedAt: 3,
        reason: { message: later },
      });
      expect(await ask().findBuild('other')).toMatchObject({ state: 'waiting' });
      const { createdAt = 0 } = (await ask().findBuild('other')) ?? {};
      expect(await ask().listBuildIds('waiting', { createdBefore: createdAt })).toEqual([]);
      expect(await ask().listBuildIds('waiting', { createdBefore: createdAt + 1 })).toEqual(['other']);
      await ask().startBuild('b2', 4);
      const reason = { message: 'broken', step: '2' };
      expect(await ask().failBuild('b2', { finishedAt: 5, reason })).toMatchObject({
        state: 'error',
        reason,
      });
      await add('b3');
      expect(await ask().findBuild('b2')).toMatchObject({ reason });
    });

    it('are not registered under the name of another kind of template', async () => {
      await ask().ensureTemplate({ project: 'local', id: 't0', name: 'base', createdAt: 0, ...size });
      const build = { id: 'b1', createdAt: 1, ...size, minFreeDiskMb: 0, isolation: null, tags: [] };
      expect(
        await ask().addBuild(
          { ...build, project: 'local' },
          { templateId: 't1', name: 'base', superseded: later },
        ),
      ).toBe('taken');
      expect(await ask().findBuild('b1')).toBeUndefined();
    });

    it('have a log in the order of its writing, of which a page can be read by level', async () => {
      await add('b1');
      const entry = (message: string, level: 'info' | 'error', step: string | null = null, at = 1) => ({
        at,
        level,
        message,
        step,
      });
      await ask().addBuildLog('b1', [entry('one', 'info'), entry('two', 'error', '1')]);
      await ask().addBuildLog('b1', [entry('three', 'info', null, 2)]);
      const read = async (query: object) =>
        (await ask().listBuildLog('b1', { levels: ['info', 'error'], offset: 0, limit: 10, ...query })).map(
          ({ message }) => message,
        );
      expect(await read({})).toEqual(['one', 'two', 'three']);
      expect(await read({ offset: 1, limit: 1 })).toEqual(['two']);
      expect(await read({ levels: ['error'] })).toEqual(['two']);
      expect(await read({ offset: 3 })).toEqual([]);
      const page = async (query: object) =>
        (
          await ask().pageBuildLog('b1', { levels: ['info', 'error'], order: 'asc', limit: 10, ...query })
        ).map(({ message }) => message);
      expect(await page({ order: 'desc', cursor: 1 })).toEqual(['two', 'one']);
      expect(await page({ order: 'desc', limit: 1 })).toEqual(['three']);
      expect(await page({ cursor: 2 })).toEqual(['three']);
      expect(await page({ limit: 1 })).toEqual(['one', 'two']);
      expect(await page({ limit: 1, cursor: 1 })).toEqual(['one', 'two', 'three']);
      expect(await page({ limit: 1, levels: ['error'] })).toEqual(['two']);
    });

    it('lose their images when no tag, sandbox or snapshot needs them', async () => {
      await make('b1', 'i1');
      expect(await reserve('s1', { buildId: 'b1' })).toBe('reserved');
      const capture = {
        sandboxId: 's1',
        parentId: null,
        isolation: 'container' as const,
        buildId: 'b1',
        kind: 'filesystem' as const,
      };
      await ask().beginSnapshot({ id: 'n1', project: 'local', ...capture, createdAt: 1, ...size });
      await make('b2', 'i2');
      expect((await ask().retireImages()).toSorted()).toEqual(['i1', 'i2']);
      await ask().changeState('s1', { from: ['starting'], to: 'ended' });
      expect(await ask().retireImages()).toContain('i1');
      await ask().forgetSnapshot('n1');
      expect(await ask().retireImages()).toEqual(['i2']);
      expect(await ask().findBuild('b1')).toMatchObject({ state: 'ready', image: null });
      expect(await reserve('s2', { buildId: 'b1' })).toBe('no_image');
      expect(await reserve('s3', { buildId: 'b2' })).toBe('reserved');
    });

    it('are deleted with their template, or lose a tag, unless a sandbox began with them', async () => {
      await make('b1', 'i1', { tags: ['v1'] });
      await make('b2', 'i2');
      await reserve('s1', { buildId: 'b1' });
      expect(await ask().retireTemplate({ templateId: 't-made', tag: 'v1' })).toBe('in_use');
      expect(await ask().retireTemplate({ templateId: 't-made', tag: 'default' })).toBe('retired');
      expect(await ask().retireTemplate({ templateId: 't-made', tag: 'default' })).toBe('not_found');
      expect(await ask().retireTemplate({ templateId: 't-made', buildId: 'b1' })).toBe('in_use');
      expect(await ask().retireTemplate({ templateId: 't-made', buildId: 'b2' })).toBe('not_found');
      expect(await ask().retireTemplate({ templateId: 't-made' })).toBe('in_use');
      await ask().changeState('s1', { from: ['starting'], to: 'ended' });
      await add('b3');
      expect(await ask().retireTemplate({ templateId: 't-made' })).toBe('retired');
      expect(await ask().retireTemplate({ templateId: 't-made' })).toBe('not_found');
      expect(await ask().findNamedTemplate({ project: 'local', name: 'made' })).toBeUndefined();
      for (const id of ['b1', 'b2', 'b3']) expect(await ask().findBuild(id)).toBeUndefined();
      expect(await ask().retireImages()).toEqual([]);
    });

    it('are listed with their templates, the latest of each', async () => {
      await ask().ensureTemplate({ project: 'local', id: 't0', name: 'base', createdAt: 0, ...size });
      await make('b1', 'i1', { createdAt: 5 });
      await add('b2', { createdAt: 6 });
      await reserve('s1', { buildId: 'b1', createdAt: 7 });
      expect(await ask().listTemplates()).toMatchObject([
        {
          template: { id: 't-made', kind: 'build' },
          build: { id: 'b2' },
          buildCount: 2,
          spawnCount: 1,
          lastSpawnedAt: 7,
        },
        { template: { id: 't0' }, build: null, buildCount: 0, spawnCount: 0, lastSpawnedAt: null },
      ]);
    });

    it('are listed with one template, those of some kinds, or a page of them, with no more than is shown', async () => {
      await ask().ensureTemplate({ project: 'local', id: 't0', name: 'base', createdAt: 0, ...size });
      for (const name of ['a', 'b']) await make(`1${name}`, `i${name}`, { name, createdAt: 5 });
      await make('2a', 'i2', { name: 'a', createdAt: 5 });
      const list = async (query: TemplateQuery) =>
        (await ask().listTemplates(query)).map(({ template, build, buildCount }) => [
          ...[template.id, build?.id, buildCount],
        ]);
      expect(await list({})).toEqual([
        ['t-b', '1b', 1],
        ['t-a', '2a', 2],
        ['t0', undefined, 0],
      ]);
      expect(await list({ id: 't-a' })).toEqual([['t-a', '2a', 2]]);
      expect(await list({ id: 'none' })).toEqual([]);
      expect(await list({ kinds: ['image'] })).toEqual([['t0', undefined, 0]]);
      expect(await list({ limit: 1 })).toEqual([['t-b', '1b', 1]]);
      expect(await list({ limit: 9, after: { createdAt: 5, id: 't-b' } })).toEqual([
        ['t-a', '2a', 2],
        ['t0', undefined, 0],
      ]);
      const [one] = await ask().listTemplates({ id: 't-a' });
      expect(one?.build).toEqual({
        ...{ id: '2a', state: 'ready', createdAt: 5, startedAt: 2, finishedAt: 9 },
        ...size,
        isolation: 'gvisor',
      });
    });
  });
};
