import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createStore } from '../sqlite.ts';
import type { Store } from '../store.ts';

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-tags-'));
  store = await createStore({ path: join(folder, 'skerry.db') });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const templateId = 't1';
const begin = async (id: string, createdAt: number, tags: readonly string[]): Promise<void> => {
  const build = { id, createdAt, cpuCount: 1, memoryMb: 128, diskMb: 100, tags };
  await store.addBuild(build, { templateId, name: 'made', superseded: 'later' });
  await store.startBuild(id, createdAt);
};
const finish = (id: string, finishedAt: number, checkpointId: string | null = null) => {
  const start = { startCmd: 'serve', readyCmd: null, user: 'user', workdir: '/', env: { A: 'b' } };
  const result = { finishedAt, image: `image-${id}`, imageBytes: 1, env: {}, start, checkpointId };
  return store.finishBuild(id, result);
};
const make = async (id: string, createdAt: number, tags: readonly string[]): Promise<void> => {
  await begin(id, createdAt, tags);
  await finish(id, createdAt + 1);
};

describe('the tags of a template', () => {
  it('are listed by name with their builds and the time at which they were set', async () => {
    await make('b1', 10, ['v1', 'default']);
    await store.assignTags({ templateId, target: 'v1', tags: ['stable'], at: 20 });
    expect(await store.listBuildTags(templateId)).toEqual([
      { tag: 'default', buildId: 'b1', assignedAt: 11 },
      { tag: 'stable', buildId: 'b1', assignedAt: 20 },
      { tag: 'v1', buildId: 'b1', assignedAt: 11 },
    ]);
  });

  it('move to the build of the last assignment, and the image that loses its last tag is retired', async () => {
    await make('b1', 10, ['v1', 'stable']);
    await make('b2', 20, ['v2']);
    expect(
      await store.assignTags({ templateId, target: 'v2', tags: ['stable', 'v1'], at: 30 }),
    ).toMatchObject({
      id: 'b2',
    });
    expect(await store.findTaggedBuild(templateId, 'stable')).toMatchObject({ id: 'b2' });
    expect(await store.findBuild('b1')).toMatchObject({ image: null });
    expect(await store.assignTags({ templateId, target: 'v3', tags: ['stable'], at: 40 })).toBeUndefined();
  });

  it('stay where they were assigned when a build that was registered before ends after', async () => {
    await make('b1', 10, ['v1']);
    await begin('b2', 20, ['default']);
    await store.assignTags({ templateId, target: 'v1', tags: ['default'], at: 30 });
    await finish('b2', 40);
    expect(await store.findTaggedBuild(templateId, 'default')).toMatchObject({ id: 'b1' });
    await make('b3', 50, ['default']);
    expect(await store.findTaggedBuild(templateId, 'default')).toMatchObject({ id: 'b3' });
  });

  it('are deleted together or not at all', async () => {
    await make('b1', 10, ['a', 'b', 'c']);
    expect(await store.deleteTags({ templateId, tags: ['a', 'none'] })).toBe('none');
    expect(await store.findTaggedBuild(templateId, 'a')).toMatchObject({ id: 'b1' });
    expect(await store.deleteTags({ templateId, tags: ['a', 'b'] })).toBeUndefined();
    expect((await store.listBuildTags(templateId)).map(({ tag }) => tag)).toEqual(['c']);
    expect(await store.findBuild('b1')).toMatchObject({ image: 'image-b1' });
  });
});

describe('the checkpoint of a build', () => {
  it('is ready with its build, and is removed before the image when no tag points to it', async () => {
    await begin('b1', 10, ['default']);
    const size = { cpuCount: 1, memoryMb: 128, diskMb: 100 };
    const of = { sandboxId: 'i1', parentId: null, buildId: 'b1', kind: 'memory' as const, createdAt: 11 };
    await store.beginSnapshot({ id: 'n1', ...of, ...size });
    expect(await finish('b1', 12, 'n1')).toMatchObject({ checkpointId: 'n1', start: { startCmd: 'serve' } });
    await store.retireUnused();
    expect(await store.listSnapshotIds('ready')).toEqual(['n1']);
    expect(await store.listSnapshots({})).toEqual([]);
    await make('b2', 20, ['default']);
    await store.retireUnused();
    expect(await store.listSnapshotIds('removing')).toEqual(['n1']);
    expect(await store.retireImages()).toContain('image-b1');
    await store.forgetSnapshot('n1');
    expect(await store.retireImages()).toEqual(['image-b2']);
  });
});

describe('a template', () => {
  it('is private until it is made public', async () => {
    await make('b1', 10, ['default']);
    expect(await store.findTemplate('made')).toMatchObject({ public: false });
    expect(await store.setPublic(templateId, true)).toBe(true);
    expect(await store.findTemplate('made')).toMatchObject({ public: true });
    expect((await store.listTemplates())[0]?.template.public).toBe(true);
    expect(await store.setPublic('none', true)).toBe(false);
  });

  it('lists its builds in pages, newest first', async () => {
    for (const [index, id] of ['b1', 'b2', 'b3'].entries()) await make(id, index * 10, [id]);
    const list = async (page: Parameters<Store['listBuilds']>[1]) =>
      (await store.listBuilds(templateId, page)).map(({ id }) => id);
    expect(await list({ limit: 2 })).toEqual(['b3', 'b2']);
    expect(await list({ limit: 2, after: { createdAt: 10, id: 'b2' } })).toEqual(['b1']);
  });
});
