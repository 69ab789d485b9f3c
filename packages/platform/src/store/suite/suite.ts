import { CLOSED_NETWORK } from '@skerry/runtime/network';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NewSandbox } from '../rows.ts';
import type { Store } from '../store.ts';
import { describeBuilds } from './build-suite.ts';
import { describeCache } from './cache-suite.ts';
import { describeBlobCopies } from './copy-suite.ts';
import { describeIdempotency } from './idempotency-suite.ts';
import { describeLeases } from './lease-suite.ts';
import { newSandbox } from './new-sandbox.ts';
import { describeNodes } from './node-suite.ts';
import { describeObservations } from './observation-suite.ts';
import { describeQuotas } from './quota-suite.ts';
import { describeScopes } from './scope-suite.ts';
import { describeSnapshots } from './snapshot-suite.ts';
import { describeTags } from './tag-suite.ts';
import { describeUsage } from './usage-suite.ts';

const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);

/** A sandbox of the base template. */
const sandbox = (id: string, more: Partial<NewSandbox> = {}): NewSandbox =>
  newSandbox(id, {
    ...{ templateId: 'tbase', templateName: 'base', createdAt: start, endAt: start + 15_000 },
    ...{ cpuCount: 2, memoryMb: 1024, diskMb: 2048 },
    ...more,
  });

/**
 * The definition of a store. `open` creates one on fresh storage; `reopen` closes it as a killed process would and
 * opens the same storage again.
 */
export const describeStore = (
  name: string,
  open: () => Promise<{ store: Store; reopen: () => Promise<Store>; remove: () => Promise<void> }>,
): void => {
  describe(`store: ${name}`, () => {
    let opened: Awaited<ReturnType<typeof open>>;
    let store: Store;
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.remove());

    const run = async (more: NewSandbox, startedAt = more.createdAt) => {
      expect(await store.reserveSandbox(more, { maxActive: 100 })).toBe('reserved');
      return store.changeState(more.id, {
        from: ['starting'],
        to: 'running',
        set: { runId: `run-${more.id}`, startedAt, endAt: more.endAt },
      });
    };
    const listed = async (query: Partial<Parameters<Store['listSandboxes']>[0]> = {}) =>
      (await store.listSandboxes({ states: ['running'], order: 'desc', ...query })).map((row) => row.id);

    describe('sandboxes', () => {
      it('returns every field of a reserved sandbox, also after a restart', async () => {
        const made = sandbox('i1', {
          metadata: { 'user id': 'a&b=c/d', empty: '' },
          envVars: { PATH: '/x', MULTI: 'a\nb' },
          defaultUser: 'worker:staff',
          defaultWorkdir: '/srv/app',
          secure: false,
          network: CLOSED_NETWORK,
          ingress: { isPrivate: true },
          autoPause: 'filesystem',
          wakeMs: 300_000,
        });
        await store.reserveSandbox(made, { maxActive: 1 });
        store = await opened.reopen();
        expect(await store.findSandbox('i1')).toEqual({
          ...made,
          state: 'starting',
          runId: null,
          startedAt: made.createdAt,
          timeToLiveMs: 15_000,
          networkPending: false,
          pausedAt: null,
          pausedWith: null,
          endedAt: null,
          cause: null,
          node: null,
        });
      });

      it('refuses a sandbox beyond the concurrency limit, and writes nothing then', async () => {
        await run(sandbox('i1'));
        expect(await store.reserveSandbox(sandbox('i2'), { maxActive: 2 })).toBe('reserved');
        expect(await store.reserveSandbox(sandbox('i3'), { maxActive: 2 })).toBe('limit');
        expect(await store.findSandbox('i3')).toBeUndefined();
        await store.changeState('i1', { from: ['running'], to: 'killing' });
        expect(await store.reserveSandbox(sandbox('i3'), { maxActive: 2 })).toBe('reserved');
      });

      it('never exceeds the limit under concurrent reservations', async () => {
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, i) => store.reserveSandbox(sandbox(`i${i}`), { maxActive: 7 })),
        );
        expect(answers.filter((answer) => answer === 'reserved')).toHaveLength(7);
        expect(await store.countSandboxes({ states: ['starting'] })).toBe(7);
      });

      it('rejects an id that exists already and keeps the first', async () => {
        await store.reserveSandbox(sandbox('i1', { metadata: { a: '1' } }), { maxActive: 5 });
        await expect(store.reserveSandbox(sandbox('i1'), { maxActive: 5 })).rejects.toThrow();
        expect((await store.findSandbox('i1'))?.metadata).toEqual({ a: '1' });
      });

      it('changes the state only from an expected one', async () => {
        await run(sandbox('i1'));
        expect(await store.changeState('i1', { from: ['starting'], to: 'ended' })).toBeUndefined();
        expect(await store.changeState('i2', { from: ['running'], to: 'ended' })).toBeUndefined();
        const change = { from: ['running', 'starting'], to: 'killing', set: { cause: 'killed' } } as const;
        const answers = await Promise.all([store.changeState('i1', change), store.changeState('i1', change)]);
        expect(answers.filter((row) => row !== undefined)).toHaveLength(1);
        expect(await store.findSandbox('i1')).toMatchObject({
          state: 'killing',
          cause: 'killed',
          runId: 'run-i1',
        });
      });

      it('changes the state only in the expected run and of a row that is due', async () => {
        await run(sandbox('i1', { endAt: start + 1000 }));
        const change = { from: ['running'], to: 'killing' } as const;
        expect(await store.changeState('i1', { ...change, runId: 'other' })).toBeUndefined();
        expect(await store.changeState('i1', { ...change, endAtMost: start + 999 })).toBeUndefined();
        expect(
          await store.changeState('i1', { ...change, endAtMost: start + 1000, runId: 'run-i1' }),
        ).toMatchObject({
          state: 'killing',
        });
      });

      it('records the policy of a running sandbox, which is pending until it is confirmed', async () => {
        const policy = { allow: ['1.1.1.1'], deny: ['0.0.0.0/0'] };
        await run(sandbox('i1'));
        await store.reserveSandbox(sandbox('i2'), { maxActive: 10 });
        const listPending = async () =>
          (await store.listSandboxes({ states: ['running'], isNetworkPending: true, order: 'asc' })).map(
            ({ id }) => id,
          );
        expect(await listPending()).toEqual([]);
        expect(await store.setNetwork('i1', policy)).toBe(true);
        for (const id of ['i2', 'none']) expect(await store.setNetwork(id, policy)).toBe(false);
        store = await opened.reopen();
        expect(await listPending()).toEqual(['i1']);
        await store.confirmNetwork('i1');
        expect(await store.findSandbox('i1')).toMatchObject({ network: policy, networkPending: false });
        await store.setNetwork('i1', null);
        expect(await store.findSandbox('i1')).toMatchObject({ network: null, networkPending: true });
      });

      it('moves the end of a running sandbox, and only to a later time with extendOnly', async () => {
        await run(sandbox('i1', { endAt: start + 10_000 }));
        const extend = (endAt: number) => store.moveEnd('i1', { endAt, extendOnly: true });
        expect((await extend(start + 9_999))?.endAt).toBe(start + 10_000);
        expect((await extend(start + 20_000))?.endAt).toBe(start + 20_000);
        expect((await store.moveEnd('i1', { endAt: start + 5, extendOnly: false }))?.endAt).toBe(start + 5);
        await store.changeState('i1', { from: ['running'], to: 'killing' });
        expect(await extend(start + 30_000)).toBeUndefined();
        expect((await store.findSandbox('i1'))?.endAt).toBe(start + 5);
      });

      it('keeps time and kind of a pause, also after a restart, and clears them at a resume', async () => {
        await run(sandbox('i1'));
        const pausedAt = start + 7;
        const change = { from: ['running'], to: 'pausing', set: { pausedAt, pausedWith: 'memory' } } as const;
        await store.changeState('i1', change);
        await store.changeState('i1', { from: ['pausing'], to: 'paused' });
        store = await opened.reopen();
        expect(await store.findSandbox('i1')).toMatchObject({
          state: 'paused',
          pausedAt,
          pausedWith: 'memory',
        });
        expect(await store.moveEnd('i1', { endAt: start + 99_000, extendOnly: true })).toBeUndefined();
        expect(await store.reserveResume('i1', { endAt: start + 50_000, maxActive: 1 })).toBe('reserved');
        const set = { runId: 'next', pausedAt: null, pausedWith: null };
        expect(await store.changeState('i1', { from: ['resuming'], to: 'running', set })).toMatchObject({
          runId: 'next',
          endAt: start + 50_000,
          pausedAt: null,
          pausedWith: null,
        });
      });

      it('reserves a place for one resume of a paused sandbox, within the limit', async () => {
        await run(sandbox('i1'));
        await run(sandbox('i2'));
        await store.changeState('i1', { from: ['running'], to: 'pausing' });
        const resume = (id: string, maxActive: number) =>
          store.reserveResume(id, { endAt: start + 20_000, maxActive });
        // A pausing sandbox keeps its place until the pause has succeeded.
        expect(await store.reserveSandbox(sandbox('i3'), { maxActive: 2 })).toBe('limit');
        expect(await resume('i1', 9)).toBe('not_paused');
        await store.changeState('i1', { from: ['pausing'], to: 'paused' });
        expect(await store.reserveSandbox(sandbox('i3'), { maxActive: 2 })).toBe('reserved');
        expect(await resume('i1', 2)).toBe('limit');
        expect(await store.findSandbox('i1')).toMatchObject({ state: 'paused', endAt: start + 15_000 });
        const both = await Promise.all([resume('i1', 3), resume('i1', 3)]);
        expect(both.map(String).toSorted()).toEqual(['not_paused', 'reserved']);
        expect(await store.reserveSandbox(sandbox('i4'), { maxActive: 3 })).toBe('limit');
        expect(await resume('i2', 9)).toBe('not_paused');
        expect(await resume('i9', 9)).toBe('not_paused');
      });

      it('lists by start time and then id, in both orders', async () => {
        await run(sandbox('ib'), start + 1);
        await run(sandbox('ia'), start + 1);
        await run(sandbox('ic'), start);
        await store.reserveSandbox(sandbox('id'), { maxActive: 9 });
        expect(await listed()).toEqual(['ib', 'ia', 'ic']);
        expect(await listed({ order: 'asc' })).toEqual(['ic', 'ia', 'ib']);
        expect(await listed({ states: ['starting', 'running'], limit: 2, order: 'asc' })).toEqual([
          'ic',
          'id',
        ]);
      });

      it('continues after a position without repeating or losing rows of the same start', async () => {
        for (const id of ['ia', 'ib', 'ic', 'id']) await run(sandbox(id), start + (id === 'id' ? 1 : 0));
        expect(await listed({ after: { startedAt: start, id: 'ic' } })).toEqual(['ib', 'ia']);
        expect(await listed({ order: 'asc', after: { startedAt: start, id: 'ib' } })).toEqual(['ic', 'id']);
      });

      it('filters by metadata pairs, template, ids, inclusive start and end, and counts the same rows', async () => {
        await run(sandbox('i1', { metadata: { user: 'ann', app: 'x' } }), start);
        await run(sandbox('i2', { metadata: { user: 'ann', app: '"y"' }, endAt: start + 15_001 }), start + 1);
        await run(
          sandbox('i3', { metadata: { user: 'bob', 'a"k\\': '1' }, templateId: 'tother' }),
          start + 2,
        );
        const cases = [
          [{ metadata: [['user', 'ann']] }, ['i2', 'i1']],
          [
            {
              metadata: [
                ['user', 'ann'],
                ['app', '"y"'],
              ],
            },
            ['i2'],
          ],
          [{ metadata: [['a"k\\', '1']] }, ['i3']],
          [{ metadata: [['user', 'an']] }, []],
          [
            {
              metadata: [
                ['user', 'ann'],
                ['user', 'bob'],
              ],
            },
            [],
          ],
          [{ templateId: 'tother' }, ['i3']],
          [{ startedFrom: start + 1 }, ['i3', 'i2']],
          [{ ids: ['i1', 'i3', 'none'] }, ['i3', 'i1']],
          [{ ids: [] }, []],
          [{ endsUntil: start + 15_000 }, ['i3', 'i1']],
          [{ endsUntil: start + 14_999 }, []],
        ] as const;
        for (const [filter, ids] of cases) {
          expect(await listed(filter)).toEqual(ids);
          expect(await store.countSandboxes({ states: ['running'], ...filter })).toBe(ids.length);
        }
      });

      it('removes only sandboxes that ended before the given time, and their metadata', async () => {
        for (const id of ['i1', 'i2', 'i3']) await run(sandbox(id, { metadata: { k: id } }));
        await store.changeState('i1', { from: ['running'], to: 'ended', set: { endedAt: start } });
        await store.changeState('i2', { from: ['running'], to: 'ended', set: { endedAt: start + day } });
        await store.deleteEndedSandboxes(start + day);
        expect(await store.findSandbox('i1')).toBeUndefined();
        expect(await store.findSandbox('i2')).toBeDefined();
        expect(await store.findSandbox('i3')).toBeDefined();
        expect(await run(sandbox('i1', { metadata: { k: 'again' } }))).toBeDefined();
        expect(await listed({ metadata: [['k', 'i1']] })).toEqual([]);
      });
    });

    describe('warm instances', () => {
      const warm = (id: string, createdAt = start) => ({ id, spec: '{"rootfs":"/"}', createdAt, node: null });

      it('are listed after a restart, the oldest first, until they are removed', async () => {
        await store.addWarm(warm('i2', start + 1));
        await store.addWarm(warm('i1'));
        store = await opened.reopen();
        expect(await store.listWarm()).toEqual([warm('i1'), warm('i2', start + 1)]);
        expect(await store.findWarm('i1')).toEqual(warm('i1'));
        expect(await store.findWarm('i3')).toBeUndefined();
        await store.removeWarm('i1');
        await store.removeWarm('i1');
        expect(await store.listWarm()).toEqual([warm('i2', start + 1)]);
      });

      it('leave the list when a sandbox reserves their id, and only then', async () => {
        await store.addWarm(warm('i1'));
        expect(await store.reserveSandbox(sandbox('i1'), { maxActive: 0 })).toBe('limit');
        expect(await store.listWarm()).toEqual([warm('i1')]);
        expect(await store.reserveSandbox(sandbox('i1'), { maxActive: 1 })).toBe('reserved');
        expect(await store.listWarm()).toEqual([]);
        expect((await store.findSandbox('i1'))?.state).toBe('starting');
      });
    });

    describe('templates', () => {
      const base = {
        id: 'tbase',
        project: 'local',
        name: 'base',
        createdAt: start,
        cpuCount: 2,
        memoryMb: 1024,
        diskMb: 2048,
      };

      it('creates a template once and finds it by id and by name', async () => {
        const made = { ...base, kind: 'image', public: false };
        expect(await store.ensureTemplate(base)).toEqual(made);
        expect(await store.ensureTemplate({ ...base, id: 'tnew', cpuCount: 8 })).toEqual(made);
        store = await opened.reopen();
        expect(await store.findNamedTemplate({ project: 'local', name: 'base' })).toEqual(made);
        expect(await store.findTemplate('tbase')).toEqual(made);
        expect(await store.findTemplate('tnew')).toBeUndefined();
      });
    });

    describeObservations(() => store, { run: (id) => run(sandbox(id)), reopen: () => opened.reopen() });

    describeSnapshots(() => store, { sandbox, reopen: () => opened.reopen() });

    for (const part of [describeBuilds, describeTags, describeUsage, describeCache]) part(() => store);
    describeIdempotency(() => store, { reopen: () => opened.reopen() });
    describeQuotas(() => store, { reopen: () => opened.reopen() });
    describeNodes(() => store, { sandbox });
    describeBlobCopies(() => store, { sandbox });
    describeLeases(() => store, { sandbox });
    describeScopes(() => store);

    describe('api keys', () => {
      const key = {
        id: 'key-1',
        hash: 'ab'.repeat(32),
        firstCharacters: '12',
        lastCharacters: '3456',
        name: 'first',
        project: null,
        readOnly: false,
        limits: { sandboxes: 3 },
        createdAt: start,
      };
      const unused = { ...key, lastUsedAt: null, revokedAt: null };

      it('finds a key by its hash only and keeps when it was used last', async () => {
        expect(await store.addApiKey(key)).toBe(true);
        expect(await store.addApiKey({ ...key, name: 'second' })).toBe(true);
        await store.touchApiKey(key.hash, start + 5);
        store = await opened.reopen();
        expect(await store.findApiKey(key.hash)).toEqual({ ...unused, lastUsedAt: start + 5 });
        expect(await store.findApiKey(key.hash.toUpperCase())).toBeUndefined();
      });

      it('lists keys newest first, and changes those that are not revoked', async () => {
        const other = { ...unused, id: 'key-2', hash: 'cd'.repeat(32), createdAt: start + 1 };
        await store.addApiKey(key);
        await store.addApiKey(other);
        expect(await store.listApiKeys()).toEqual([other, unused]);
        expect(await store.changeApiKey(key.id, { name: 'renamed' })).toBe(true);
        expect(await store.revokeApiKey(other.id, start + 2)).toBe(true);
        expect(await store.listApiKeys()).toEqual([{ ...unused, name: 'renamed' }]);
        expect(await store.changeApiKey(key.id, { limits: { memoryMb: 64 } })).toBe(true);
        expect((await store.listApiKeys())[0]).toMatchObject({ name: 'renamed', limits: { memoryMb: 64 } });
        expect(await store.changeApiKey(other.id, { name: 'renamed' })).toBe(false);
        expect(await store.changeApiKey('key-3', { limits: {} })).toBe(false);
      });

      it('never accepts a revoked key again', async () => {
        await store.addApiKey(key);
        expect(await store.revokeApiKey(key.id, start + 2)).toBe(true);
        expect(await store.revokeApiKey(key.id, start + 3)).toBe(false);
        expect(await store.findApiKey(key.hash)).toBeUndefined();
        expect(await store.addApiKey({ ...key, id: 'key-2' })).toBe(false);
        expect(await store.findApiKey(key.hash)).toBeUndefined();
      });
    });
  });
};
