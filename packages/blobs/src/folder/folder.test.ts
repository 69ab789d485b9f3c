import { mkdtempSync } from 'node:fs';
import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { openBlobStore } from '../open-blob-store.ts';
import { describeBlobStore } from '../suite/suite.ts';

const base = mkdtempSync(join(tmpdir(), 'skerry-blobs-'));
afterAll(() => rm(base, { recursive: true }));

describeBlobStore('a folder', async () => {
  const folder = join(base, 'suite');
  return {
    store: await openBlobStore({ kind: 'folder', folder }),
    findUnfinished: async () => (await readdir(folder)).filter((name) => name.startsWith('.')),
  };
});

describe('a folder of blobs', () => {
  it('is closed to other users, and its blobs are as well', async () => {
    const folder = join(base, 'closed');
    const store = await openBlobStore({ kind: 'folder', folder });
    await store.put('a/b', Readable.from(['x']));
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, 'a+b'))).mode & 0o777).toBe(0o600);
  });

  it('loses what a killed process has left, once that is old enough', async () => {
    const folder = join(base, 'killed');
    const store = await openBlobStore({ kind: 'folder', folder });
    await store.put('kept', Readable.from(['x']));
    for (const name of ['.new-old', '.new-young']) await writeFile(join(folder, name), 'half');
    await utimes(join(folder, '.new-old'), 1, 1);
    expect(await store.removeAbandoned({ startedBefore: new Date(60_000) })).toBe(1);
    expect((await readdir(folder)).sort()).toEqual(['.new-young', 'kept']);
  });

  it('reports the failures of its file system with a code', async () => {
    await writeFile(join(base, 'file'), '');
    await expect(
      openBlobStore({ kind: 'folder', folder: join(base, 'file', 'below') }),
    ).rejects.toMatchObject({
      name: 'BlobError',
      code: 'internal',
    });
    const folder = join(base, 'gone');
    const store = await openBlobStore({ kind: 'folder', folder });
    await rm(folder, { recursive: true });
    await expect(store.put('a', Readable.from(['x']))).rejects.toMatchObject({ code: 'not_found' });
  });
});
