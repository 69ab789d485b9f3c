import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAuthenticate, ensureApiKey, ensureSecret } from './api-key.ts';
import { createStore } from './store/sqlite.ts';
import type { Store } from './store/store.ts';

describe('API keys', () => {
  let dataDir: string;
  let store: Store;
  let now = 1_000_000;
  const clock = { now: () => now, elapsed: () => 0, after: () => () => {} };
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'skerry-key-'));
    store = await createStore({ path: join(dataDir, 'skerry.db') });
  });
  afterEach(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });

  it('makes one key at the first start, accepts it, and gives the same at the next', async () => {
    const key = await ensureApiKey({ dataDir, store, clock });
    expect(key).toMatch(/^e2b_[0-9a-f]{40}$/);
    expect(await ensureApiKey({ dataDir, store, clock })).toBe(key);
    await expect(createAuthenticate({ store, clock })(key)).resolves.toBeUndefined();
  });

  it('keeps no key in the database', async () => {
    const key = await ensureApiKey({ dataDir, store, clock });
    for (const name of ['skerry.db', 'skerry.db-wal']) {
      expect((await readFile(join(dataDir, name))).includes(key)).toBe(false);
    }
  });

  it('rejects a missing, malformed, unknown and repeated key as unauthenticated', async () => {
    const key = await ensureApiKey({ dataDir, store, clock });
    const authenticate = createAuthenticate({ store, clock });
    const headers = [
      undefined,
      '',
      'e2b_',
      key.toUpperCase(),
      `${key}0`,
      `e2b_${'0'.repeat(40)}`,
      [key, key],
    ];
    for (const header of headers) {
      await expect(authenticate(header)).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });

  it('writes down the last use, at most once a minute', async () => {
    const key = await ensureApiKey({ dataDir, store, clock });
    const touched: number[] = [];
    const authenticate = createAuthenticate({
      clock,
      store: {
        ...store,
        touchApiKey: async (hash, at) => {
          touched.push(at);
          await store.touchApiKey(hash, at);
        },
      },
    });
    await authenticate(key);
    now += 59_999;
    await authenticate(key);
    now += 1;
    await authenticate(key);
    expect(touched).toEqual([1_000_000, 1_060_000]);
  });

  it('makes one secret and keeps it', async () => {
    const secret = await ensureSecret({ dataDir });
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect(await ensureSecret({ dataDir })).toBe(secret);
  });
});
