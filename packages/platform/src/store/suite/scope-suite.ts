import { describe, expect, it } from 'vitest';
import type { Scope } from '../scope.ts';
import type { Store } from '../store.ts';
import { newSandbox } from './new-sandbox.ts';

const shop: Scope = { project: 'shop', isReadOnly: false };
const everything: Scope = { project: null, isReadOnly: false };
const size = { cpuCount: 1, memoryMb: 128, diskMb: 1 };

/** The tests of what a caller sees, part of the suite of stores. */
export const describeScopes = (ask: () => Store): void => {
  const addBuild = async (project: string, name: string): Promise<string> => {
    const build = {
      id: `b-${project}-${name}`,
      project,
      createdAt: 1,
      ...size,
      minFreeDiskMb: 0,
      isolation: null,
      tags: [],
    };
    const row = await ask().addBuild(build, { templateId: `t-${project}-${name}`, name, superseded: '' });
    if (typeof row === 'string') throw new Error(row);
    return row.templateId;
  };
  const find = async (text: string, scope: Scope): Promise<string | undefined> => {
    const [name = '', project] = text.split('/').toReversed();
    return (await ask().findVisibleTemplate({ project, name }, scope))?.id;
  };

  describe('scopes', () => {
    it('have the sandboxes of their project alone', async () => {
      for (const [id, project] of [
        ['i1', 'shop'],
        ['i2', 'blog'],
      ] as const)
        await ask().reserveSandbox(newSandbox(id, { project }), { maxActive: 9 });
      const filter = { states: ['starting'], order: 'asc' } as const;
      const listed = async (scope: Scope) =>
        (await ask().listSandboxes({ ...filter, scope })).map(({ id }) => id);
      expect(await listed(shop)).toEqual(['i1']);
      expect(await listed(everything)).toEqual(['i1', 'i2']);
      expect(await ask().countSandboxes({ states: ['starting'], scope: shop })).toBe(1);
      expect(await ask().findOwnSandbox('i1', shop)).toMatchObject({ id: 'i1', project: 'shop' });
      expect(await ask().findOwnSandbox('i2', shop)).toBeUndefined();
      for (const [id, endAt] of [
        ['i1', 20],
        ['i2', 10],
      ] as const)
        await ask().changeState(id, { from: ['starting'], to: 'running', set: { endAt } });
      expect([await ask().findNextEnd('shop'), await ask().findNextEnd(null)]).toEqual([20, 10]);
      const window = { from: 0, to: 9, stepMs: 1 };
      expect([...(await ask().countCreated({ ...window, scope: shop }))]).toEqual([[1, 1]]);
      expect([...(await ask().countSampled({ ...window, grain: 0, scope: shop }))]).toEqual([]);
    });

    it('have names of their own, which come before those of the default project', async () => {
      const own = await addBuild('shop', 'web');
      const others = await addBuild('blog', 'web');
      const shared = await addBuild('local', 'web');
      expect(new Set([own, others, shared]).size).toBe(3);
      expect(await find('web', shop)).toBe(own);
      expect(await find('shop/web', shop)).toBe(own);
      expect(await find('local/web', shop)).toBeUndefined();
      expect(await find('blog/web', shop)).toBeUndefined();
      expect(await find(others, shop)).toBeUndefined();
      expect(await find('web', everything)).toBe(shared);
      expect(await find('blog/web', everything)).toBe(others);
      expect((await ask().listTemplates({ scope: shop })).map(({ template }) => template.id)).toEqual([own]);
    });

    it('find a template by its id before one whose name is that id', async () => {
      const first = await addBuild('shop', 'web');
      await addBuild('shop', first);
      await addBuild('shop', 't-shop-last');
      const last = await addBuild('shop', 'last');
      expect([await find(first, shop), await find(last, shop)]).toEqual([first, 't-shop-last']);
    });

    it('have public templates of other projects, and images of the installation', async () => {
      const others = await addBuild('blog', 'tools');
      const shared = await addBuild('local', 'common');
      const base = { id: 'tbase', project: 'local', name: 'base', createdAt: 0, ...size };
      await ask().ensureTemplate(base);
      for (const id of [others, shared]) await ask().setPublic(id, true);
      expect(await find('base', shop)).toBe('tbase');
      expect(await find('common', shop)).toBe(shared);
      expect(await find('tools', shop)).toBeUndefined();
      expect(await find('blog/tools', shop)).toBe(others);
      expect(await find(others, shop)).toBe(others);
    });

    it('have the snapshots of their project alone', async () => {
      for (const project of ['shop', 'blog']) {
        const of = {
          sandboxId: 'i1',
          parentId: null,
          isolation: 'container' as const,
          buildId: null,
          kind: 'filesystem',
        } as const;
        await ask().beginSnapshot({ id: `s-${project}`, project, createdAt: 1, ...of, ...size });
        const made = await ask().publishSnapshot(`s-${project}`, {
          ...{ templateId: `t-${project}`, name: 'prepared', tag: 'default' },
        });
        expect(made).toMatchObject({ templateId: `t-${project}`, project });
      }
      expect((await ask().listSnapshots({ scope: shop })).map(({ id }) => id)).toEqual(['s-shop']);
      expect(await ask().listSnapshots({ scope: everything })).toHaveLength(2);
      const visible = async (id: string, scope: Scope) => (await ask().findVisibleSnapshot(id, scope))?.id;
      expect(await visible('s-shop', shop)).toBe('s-shop');
      expect(await visible('s-blog', shop)).toBeUndefined();
      expect(await visible('s-blog', everything)).toBe('s-blog');
      await ask().setPublic('t-blog', true);
      expect(await visible('s-blog', shop)).toBe('s-blog');
    });
  });
};
