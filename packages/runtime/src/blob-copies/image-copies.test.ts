import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { BlobStore } from '@skerry/blobs';
import { openBlobStore } from '@skerry/blobs/open';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readImageCopy, writeImageCopy } from './image-copies.ts';
import { listBlobCopies, removeBlobCopy } from './list-copies.ts';

let folder: string;
let blobs: BlobStore;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-stored-images-'));
  blobs = await openBlobStore({ kind: 'folder', folder });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const listIds = async (): Promise<string[]> => {
  const ids: string[] = [];
  for await (const id of listBlobCopies(blobs)) ids.push(id);
  return ids;
};

describe('an image in a blob store', () => {
  it('is compressed there, listed, read back as it was, and removed', async () => {
    const content = Buffer.concat([Buffer.alloc(2 ** 22), Buffer.from('the end')]);
    const { sizeBytes } = await writeImageCopy(blobs, 'c1', { body: Readable.from([content]) });
    expect(sizeBytes).toBeLessThan(10_000);
    for (const key of ['snapshots/c2/parts/1', 'snapshots/c2/parts/2', 'snapshots/c3/manifest.json'])
      await blobs.put(key, Readable.from(['x']));
    expect(await listIds()).toEqual(['c2', 'c3', 'c1']);
    expect((await buffer(await readImageCopy(blobs, 'c1'))).equals(content)).toBe(true);
    for (const id of ['c1', 'c2', 'c3', 'c3']) await removeBlobCopy(blobs, id);
    expect(readdirSync(folder)).toEqual([]);
    await expect(readImageCopy(blobs, 'c1')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is not there when its body fails or the signal aborts', async () => {
    const failing = Readable.from(
      (async function* () {
        yield Buffer.alloc(2 ** 20, 1);
        throw new Error('the node is gone');
      })(),
    );
    await expect(writeImageCopy(blobs, 'c1', { body: failing })).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'unavailable',
    });
    const body = Readable.from([Buffer.alloc(8)]);
    const aborted = writeImageCopy(blobs, 'c1', { body, signal: AbortSignal.abort() });
    await expect(aborted).rejects.toMatchObject({ code: 'unavailable' });
    expect(body.destroyed).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('fails to be read when it was changed', async () => {
    await blobs.put('images/c1', Readable.from(['no image']));
    await expect(buffer(await readImageCopy(blobs, 'c1'))).rejects.toThrow();
  });
});
