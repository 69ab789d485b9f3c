import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { BlobError } from './blob-error.ts';
import type { BlobStore } from './blob-store.ts';
import { openBlobStore } from './open-blob-store.ts';
import { createReopeningStore } from './reopening-store.ts';

const folder = mkdtempSync(join(tmpdir(), 'skerry-reopening-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a store that is opened later', () => {
  it('rejects as long as it cannot be opened, and is opened once then', async () => {
    let problem: Error | undefined = new BlobError('unavailable', 'the bucket does not answer');
    let opened = 0;
    const store = createReopeningStore(async () => {
      if (problem) throw problem;
      opened += 1;
      return openBlobStore({ kind: 'folder', folder });
    });
    const body = Readable.from(['x']);
    const refused = { name: 'BlobError', code: 'unavailable' };
    await expect(store.open()).rejects.toMatchObject(refused);
    await expect(store.put('a', body)).rejects.toMatchObject(refused);
    expect(body.destroyed).toBe(true);
    await expect(store.list('')[Symbol.asyncIterator]().next()).rejects.toMatchObject(refused);
    await store.close();
    problem = undefined;
    await Promise.all([store.open(), store.put('a', Readable.from(['x'])), store.head('a')]);
    expect(opened).toBe(1);
    expect(await text((await store.get('a')).body)).toBe('x');
    await store.close();
  });

  it('aborts calls that wait for its opening, and is closed without that', async () => {
    const { promise, resolve } = Promise.withResolvers<BlobStore>();
    const store = createReopeningStore(() => promise);
    const abort = new AbortController();
    const asked = store.head('a', { signal: abort.signal });
    abort.abort();
    await expect(asked).rejects.toMatchObject({ name: 'BlobError', code: 'aborted' });
    await expect(store.head('a', { signal: abort.signal })).rejects.toMatchObject({ code: 'aborted' });
    await store.close();
    const late = await openBlobStore({ kind: 'folder', folder });
    const closed = Promise.withResolvers<void>();
    resolve({ ...late, close: async () => closed.resolve() });
    await closed.promise;
  });
});
