import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { newSandbox } from '../store/suite/new-sandbox.ts';
import { createTimeToLive, type TimeToLive } from './time-to-live.ts';

const start = Date.UTC(2026, 0, 1);
const maxRunMs = 3_600_000;

describe('createTimeToLive', () => {
  let folder: string;
  let store: Store;
  let now: number;
  let announced: [string, number][];
  let timeToLive: TimeToLive;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'skerry-ttl-'));
    store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret' });
    now = start;
    announced = [];
    timeToLive = createTimeToLive({
      store,
      expiry: { schedule: (id, endAt) => announced.push([id, endAt]) },
      clock: { now: () => now, elapsed: () => 0, after: () => () => {} },
      limits: { maxRunMs },
    });
    const endAt = start + 60_000;
    await store.reserveSandbox(newSandbox('i1', { createdAt: start, endAt }), { maxActive: 1 });
    const set = { runId: 'r1', startedAt: start, endAt };
    await store.changeState('i1', { from: ['starting'], to: 'running', set });
  });
  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const endAt = async () => (await store.findSandbox('i1'))?.endAt;

  it('sets an earlier end as well as a later one, and announces both', async () => {
    now += 1_000;
    await timeToLive.set('i1', 5_000);
    expect(await endAt()).toBe(start + 6_000);
    await timeToLive.set('i1', 120_000);
    expect(await endAt()).toBe(start + 121_000);
    expect(announced).toEqual([
      ['i1', start + 6_000],
      ['i1', start + 121_000],
    ]);
  });

  it('ends at once when set to 0', async () => {
    now += 1_234;
    expect((await timeToLive.set('i1', 0)).endAt).toBe(now);
  });

  it('leaves the end exactly as it is when an extension would be sooner', async () => {
    now += 30_000;
    expect((await timeToLive.extend('i1', 29_999)).endAt).toBe(start + 60_000);
    expect(await endAt()).toBe(start + 60_000);
    expect((await timeToLive.extend('i1', 30_001)).endAt).toBe(start + 60_001);
  });

  it('caps silently at the longest run', async () => {
    now += 1_000;
    expect((await timeToLive.set('i1', maxRunMs * 2)).endAt).toBe(start + maxRunMs);
    expect((await timeToLive.extend('i1', maxRunMs * 2)).endAt).toBe(start + maxRunMs);
  });

  it('refuses more time once the longest run is over, but still ends', async () => {
    now += maxRunMs;
    await expect(timeToLive.set('i1', 1_000)).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(timeToLive.extend('i1', 1_000)).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await endAt()).toBe(start + 60_000);
    expect((await timeToLive.set('i1', 0)).endAt).toBe(start + maxRunMs);
    now += 1;
    for (const timeoutMs of [1, 1_000])
      await expect(timeToLive.set('i1', timeoutMs)).rejects.toMatchObject({
        code: 'invalid_argument',
        message: expect.stringContaining('3600 s'),
      });
    expect((await timeToLive.set('i1', 0)).endAt).toBe(start + maxRunMs);
  });

  it('gives any time while a moment of the longest run is left', async () => {
    now += maxRunMs - 1;
    expect((await timeToLive.set('i1', 60_000)).endAt).toBe(start + maxRunMs);
  });

  it('rejects a sandbox that ends between the check and the change', async () => {
    const racing = createTimeToLive({
      store: {
        ...store,
        moveEnd: async (id, move) => {
          await store.changeState(id, { from: ['running'], to: 'killing' });
          return store.moveEnd(id, move);
        },
      },
      expiry: { schedule: (id, endAt) => announced.push([id, endAt]) },
      clock: { now: () => now, elapsed: () => 0, after: () => () => {} },
      limits: { maxRunMs },
    });
    await expect(racing.set('i1', 5_000)).rejects.toMatchObject({ code: 'not_found' });
    expect(announced).toEqual([]);
  });

  it('rejects an unknown sandbox and one that is ending', async () => {
    await expect(timeToLive.set('i2', 1)).rejects.toMatchObject({ code: 'not_found' });
    await store.changeState('i1', { from: ['running'], to: 'killing' });
    await expect(timeToLive.extend('i1', 90_000)).rejects.toMatchObject({ code: 'not_found' });
    expect(await endAt()).toBe(start + 60_000);
    expect(announced).toEqual([]);
  });
});
