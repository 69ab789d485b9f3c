import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError } from '@skerry/contract/error';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAuthenticate, ensureApiKey, ensureSecret, makeApiKey, toApiKeyRow } from './api-key.ts';
import { createStore } from './store/sqlite.ts';
import type { Store } from './store/store.ts';

describe('API keys', () => {
  let dataDir: string;
  let store: Store;
  let now: number;
  const clock = { now: () => now, elapsed: () => 0, after: () => () => {} };
  beforeEach(async () => {
    now = 1_000_000;
    dataDir = await mkdtemp(join(tmpdir(), 'skerry-key-'));
    store = await createStore({ path: join(dataDir, 'skerry.db'), secret: 'secret' });
  });
  afterEach(async () => {
    await store.close();
    await rm(dataDir, { recursive: true });
  });

  it('makes one key at the first start, accepts it, and keeps it at the next', async () => {
    const key = await ensureApiKey({ dataDir, store, clock });
    expect(key).toMatch(/^e2b_[0-9a-f]{40}$/);
    expect(await ensureApiKey({ dataDir, store, clock })).toBe(key);
    await expect(createAuthenticate({ store, clock })(key)).resolves.toMatchObject({ name: 'server' });
  });

  it('replaces the key in the file when that was revoked', async () => {
    const revoked = await ensureApiKey({ dataDir, store, clock });
    const authenticate = createAuthenticate({ store, clock });
    const { id } = await authenticate(revoked);
    await store.revokeApiKey(id, now);
    await expect(authenticate(revoked)).rejects.toMatchObject({ code: 'unauthenticated' });
    const key = await ensureApiKey({ dataDir, store, clock });
    expect(key).not.toBe(revoked);
    await authenticate(key);
    await expect(authenticate(revoked)).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('keeps no key in the database', async () => {
    const key = await ensureApiKey({ dataDir, store, clock });
    for (const name of ['skerry.db', 'skerry.db-wal']) {
      expect((await readFile(join(dataDir, name))).includes(key)).toBe(false);
    }
  });

  it('keeps a new key in its file, and its hash with a mask of it in the store', async () => {
    const key = await ensureApiKey({ dataDir, store, clock });
    expect((await readFile(join(dataDir, 'api-key'), 'utf8')).trim()).toBe(key);
    const hash = createHash('sha256').update(key).digest('hex');
    expect(await store.findApiKey(hash)).toEqual({
      id: expect.stringMatching(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/),
      hash,
      firstCharacters: key.slice(4, 6),
      lastCharacters: key.slice(40),
      name: 'server',
      project: null,
      readOnly: false,
      limits: {},
      createdAt: now,
      lastUsedAt: null,
      revokedAt: null,
    });
  });

  it('keeps of a key the hash and six of its characters', () => {
    const key = makeApiKey();
    const row = toApiKeyRow(key, {
      ...{ name: 'tests', project: null, readOnly: false, limits: {} },
      createdAt: now,
    });
    expect(JSON.stringify(row)).not.toContain(key.slice(4, 40));
    expect(row.firstCharacters.length + row.lastCharacters.length).toBe(6);
  });

  it('refuses to start with a file that contains no key, and stores none', async () => {
    for (const text of ['nonsense', `e2b_${'0'.repeat(39)}`, `e2b_${'+'.repeat(40)}`]) {
      await writeFile(join(dataDir, 'api-key'), text);
      await expect(ensureApiKey({ dataDir, store, clock })).rejects.toThrow('does not contain an API key');
      const hash = createHash('sha256').update(text).digest('hex');
      expect(await store.findApiKey(hash)).toBeUndefined();
    }
  });

  it('says whether a key is missing, malformed or unknown', async () => {
    const key = await ensureApiKey({ dataDir, store, clock });
    const authenticate = createAuthenticate({ store, clock });
    const headers = {
      missing: [undefined, ''],
      malformed: ['e2b_', key.toUpperCase(), `${key}0`, `e2b_${'+'.repeat(40)}`, [key], [key, key]],
      unknown: [`e2b_${'0'.repeat(40)}`],
    };
    for (const [what, values] of Object.entries(headers)) {
      const refusal = { code: 'unauthenticated', message: expect.stringContaining(what) };
      for (const header of values) await expect(authenticate(header)).rejects.toMatchObject(refusal);
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
    now += 3_600_000;
    await authenticate(key);
    expect(touched).toEqual([1_000_000, 1_060_000, 4_660_000]);
  });

  it('accepts a key whose use cannot be written down for now', async () => {
    const key = await ensureApiKey({ dataDir, store, clock });
    const failing = (error: Error) =>
      createAuthenticate({ clock, store: { ...store, touchApiKey: () => Promise.reject(error) } });
    await failing(new ApiError('unavailable', 'the database is read-only'))(key);
    for (const error of [new Error('a defect'), new ApiError('internal', 'a defect')])
      await expect(failing(error)(key)).rejects.toThrow('a defect');
  });

  it('makes one secret and keeps it', async () => {
    const secret = await ensureSecret({ dataDir });
    expect(secret).toMatch(/^[0-9a-f]{64}$/);
    expect((await readFile(join(dataDir, 'secret'), 'utf8')).trim()).toBe(secret);
    expect(await ensureSecret({ dataDir })).toBe(secret);
  });
});
