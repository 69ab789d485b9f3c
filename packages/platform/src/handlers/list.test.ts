import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EVERYTHING } from '../store/scope.ts';
import { createStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { newSandbox } from '../store/suite/new-sandbox.ts';
import { createListHandlers } from './list.ts';

const start = Date.UTC(2026, 0, 1);

type Handlers = ReturnType<typeof createListHandlers>;
type Query = Parameters<Handlers['GET /v2/sandboxes']>[0]['query'];

describe('listing', () => {
  let folder: string;
  let store: Store;
  let handlers: Handlers;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'skerry-list-'));
    store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret' });
    handlers = createListHandlers({ store });
    const size = { createdAt: start, cpuCount: 2, memoryMb: 512, diskMb: 100 };
    await store.ensureTemplate({ project: 'local', id: 'tbase', name: 'base', ...size });
    await store.ensureTemplate({ project: 'local', id: 'tother', name: 'other', ...size });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const run = async (
    id: string,
    {
      at = start,
      template = 'base',
      metadata = {},
    }: { at?: number; template?: string; metadata?: Record<string, string> },
  ) => {
    const made = newSandbox(id, {
      ...{ templateId: `t${template}`, templateName: template, metadata },
      ...{ createdAt: start, endAt: at + 1000, cpuCount: 2, memoryMb: 512 },
    });
    await store.reserveSandbox(made, { maxActive: 1000 });
    await store.changeState(id, { from: ['starting'], to: 'running', set: { runId: id, startedAt: at } });
  };
  const request = <Q>(query: Q) => ({
    params: {},
    query,
    headers: {},
    body: undefined,
    context: {
      origin: 'http://localhost',
      apiKey: '',
      scope: EVERYTHING,
      keyId: null,
      isForwarded: false,
      isServer: false,
    },
    signal: new AbortController().signal,
  });
  const list = async (query: Query) => {
    const reply = await handlers['GET /v2/sandboxes'](request(query));
    if (reply.status !== 200) throw new Error(`unexpected status ${reply.status}`);
    return { ids: reply.body.map((row) => row.sandboxID), headers: reply.headers ?? {}, rows: reply.body };
  };

  it('returns each row once over pages of any size, and a token only when more rows exist', async () => {
    // Three sandboxes a millisecond, so that pages end between rows of the same start.
    for (let i = 0; i < 10; i += 1) await run(`i${i}`, { at: start + Math.floor(i / 3) });
    for (const order of ['asc', 'desc'] as const) {
      const all = (await list({ order })).ids;
      expect(all).toHaveLength(10);
      for (const limit of [1, 3, 5, 9, 10]) {
        const seen: string[] = [];
        let pages = 0;
        for (let nextToken: string | undefined; ; ) {
          const page = await list({ order, limit, ...(nextToken !== undefined && { nextToken }) });
          expect(page.ids.length).toBeGreaterThan(0);
          expect(page.headers['X-Total-Running']).toBe(10);
          seen.push(...page.ids);
          pages += 1;
          nextToken = page.headers['X-Next-Token'];
          if (nextToken === undefined) break;
        }
        expect(seen).toEqual(all);
        expect(pages).toBe(Math.ceil(10 / limit));
      }
    }
  });

  it('returns the newest first by default', async () => {
    await run('i1', { at: start });
    await run('i2', { at: start + 1 });
    expect((await list({})).ids).toEqual(['i2', 'i1']);
    expect((await list({ order: 'asc' })).ids).toEqual(['i1', 'i2']);
  });

  it('includes the row that starts at exactly the given time', async () => {
    await run('i1', { at: start + 122 });
    await run('i2', { at: start + 123 });
    const [newest] = (await list({})).rows;
    expect((await list({ startedAfter: newest?.startedAt ?? '' })).ids).toEqual(['i2']);
  });

  it('filters by template id and name, and returns no row for an unknown template', async () => {
    await run('i1', {});
    await run('i2', { template: 'other' });
    expect((await list({ template: 'tother' })).ids).toEqual(['i2']);
    expect((await list({ template: 'Other' })).ids).toEqual(['i2']);
    expect(await list({ template: 'unknown' })).toMatchObject({ ids: [], headers: { 'X-Total-Running': 0 } });
    await expect(list({ template: 'base:default' })).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('counts what matches the filter, not the page', async () => {
    for (let i = 0; i < 4; i += 1) await run(`i${i}`, { metadata: { user: i < 3 ? 'ann' : 'bob' } });
    const page = await list({ metadata: 'user=ann', limit: 1 });
    expect(page.ids).toHaveLength(1);
    expect(page.headers['X-Total-Running']).toBe(3);
  });

  it('omits the count of running sandboxes when only paused ones are listed', async () => {
    await run('i1', {});
    expect(await list({ state: ['paused'] })).toMatchObject({ ids: [], headers: {} });
    expect((await list({ state: ['paused'] })).headers).not.toHaveProperty('X-Total-Running');
    const both = await list({ state: ['running', 'paused'] });
    expect([both.ids, both.headers['X-Total-Running']]).toEqual([['i1'], 1]);
  });

  it('shows sandboxes that are paused, pausing or resuming as paused, and counts only running ones', async () => {
    for (const id of ['i1', 'i2', 'i3', 'i4']) await run(id, {});
    const pausedAt = start + 500;
    await store.changeState('i2', { from: ['running'], to: 'pausing', set: { pausedAt } });
    await store.changeState('i3', { from: ['running'], to: 'paused', set: { pausedAt } });
    await store.changeState('i4', { from: ['running'], to: 'resuming', set: { pausedAt } });
    const both = await list({});
    expect(both.rows.map(({ sandboxID, state }) => `${sandboxID} ${state}`)).toEqual([
      'i4 paused',
      'i3 paused',
      'i2 paused',
      'i1 running',
    ]);
    expect(both.rows.map(({ endAt }) => Date.parse(endAt) - start)).toEqual([500, 500, 500, 1000]);
    expect(both.headers['X-Total-Running']).toBe(1);
    expect((await list({ state: ['running'] })).ids).toEqual(['i1']);
    expect((await list({ state: ['paused'] })).ids).toEqual(['i4', 'i3', 'i2']);
    const older = await handlers['GET /sandboxes'](request({}));
    expect(older).toMatchObject({ status: 200, body: [{ sandboxID: 'i1' }] });
  });

  it('omits sandboxes that are starting or ending', async () => {
    await run('i1', {});
    await run('i2', {});
    await store.changeState('i2', { from: ['running'], to: 'killing' });
    expect((await list({})).ids).toEqual(['i1']);
    const older = await handlers['GET /sandboxes'](request({}));
    expect(older).toMatchObject({ status: 200, body: [{ sandboxID: 'i1', state: 'running' }] });
  });

  it('has a hundred rows on a page unless asked for another number', async () => {
    for (let i = 0; i < 102; i += 1) await run(`i${i}`, { at: start + i });
    const first = await list({});
    expect(first.ids).toHaveLength(100);
    const rest = await list({ nextToken: first.headers['X-Next-Token'] ?? '' });
    expect(rest.ids).toEqual(['i1', 'i0']);
  });

  it('returns the newest first to older clients too', async () => {
    await run('i1', { at: start });
    await run('i2', { at: start + 1 });
    const older = await handlers['GET /sandboxes'](request({}));
    expect(older).toMatchObject({ status: 200, body: [{ sandboxID: 'i2' }, { sandboxID: 'i1' }] });
  });

  it('names the parameter that it refuses', async () => {
    const refusals = [
      [{ startedAfter: 'yesterday' }, 'query.startedAfter'],
      [{ template: 'Not A Name!' }, 'query.template'],
      [{ template: 'base:v1' }, 'query.template'],
      [{ nextToken: 'x' }, 'query.nextToken'],
      [{ metadata: 'x' }, 'query.metadata'],
    ] as const;
    for (const [query, name] of refusals)
      await expect(list(query)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining(name),
      });
  });

  it('refuses a token of the other order', async () => {
    await run('i1', {});
    await run('i2', {});
    const nextToken = (await list({ limit: 1 })).headers['X-Next-Token'] ?? '';
    await expect(list({ nextToken, order: 'asc' })).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});
