import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { BlobStore } from '../blob-store.ts';

const MIB = 2 ** 20;

const collect = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
};

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A body that sends these bytes, and with which `end` then does something. */
const bodyThen = (bytes: Uint8Array, end: (body: Readable) => void): Readable => {
  const chunkBytes = 65_536;
  let at = 0;
  return new Readable({
    read() {
      if (at >= bytes.length) {
        end(this);
        return;
      }
      this.push(bytes.subarray(at, at + chunkBytes));
      at += chunkBytes;
    },
  });
};

/**
 * The definition of a blob store. `open` creates one on empty storage; `findUnfinished` resolves with the names of what
 * the storage has of blobs that are none.
 */
export const describeBlobStore = (
  name: string,
  open: () => Promise<{ store: BlobStore; findUnfinished: () => Promise<string[]> }>,
): void => {
  describe(`a blob store in ${name}`, () => {
    let store: BlobStore;
    let findUnfinished: () => Promise<string[]>;
    beforeAll(async () => {
      ({ store, findUnfinished } = await open());
    });
    afterAll(() => store?.close());
    afterEach(async () => {
      for await (const { key } of store.list('')) await store.delete(key);
      expect(await findUnfinished()).toEqual([]);
    });

    const put = (key: string, content: string) => store.put(key, Readable.from([Buffer.from(content)]));
    const read = async (key: string) => text((await store.get(key)).body);
    const keys = async (prefix: string) => (await collect(store.list(prefix))).map(({ key }) => key);

    it('returns what was stored, of a stated and of an unstated size, and describes it', async () => {
      const before = Date.now();
      expect(await put('some/name.txt', 'content')).toEqual({ sizeBytes: 7 });
      const body = Readable.from([Buffer.from('con'), Buffer.from('tent 2')]);
      expect(await store.put('other', body, { sizeBytes: 9 })).toEqual({ sizeBytes: 9 });
      expect(await store.put('empty', Readable.from([]))).toEqual({ sizeBytes: 0 });
      expect(await Promise.all(['some/name.txt', 'other', 'empty'].map(read))).toEqual([
        'content',
        'content 2',
        '',
      ]);
      const found = await store.head('some/name.txt');
      expect(found).toMatchObject({ key: 'some/name.txt', sizeBytes: 7 });
      // S3 has whole seconds.
      expect(Math.abs(Number(found?.modifiedAt) - before)).toBeLessThan(600_000);
      expect((await store.get('other')).sizeBytes).toBe(9);
    });

    it('replaces a blob as a whole, while a reader of the former one reads on', async () => {
      const former = randomBytes(3 * MIB);
      await store.put('key', Readable.from([former]));
      const { body } = await store.get('key');
      await put('key', 'next');
      expect(sha256(await buffer(body))).toBe(sha256(former));
      expect(await read('key')).toBe('next');
    });

    it('keeps large blobs byte for byte, also in ranges', async () => {
      const large = randomBytes(18 * MIB + 5);
      await store.put('known', Readable.from([large]), { sizeBytes: large.length });
      await store.put('unknown', Readable.from([large]));
      for (const key of ['known', 'unknown'])
        expect(sha256(await buffer((await store.get(key)).body))).toBe(sha256(large));
      for (const range of [
        { offset: 0, length: 1 },
        { offset: 5 * MIB - 3, length: 7 },
        { offset: large.length - 2 },
        { offset: large.length - 1, length: 99 },
      ]) {
        const found = await store.get('known', { range });
        const expected = large.subarray(range.offset, range.offset + (range.length ?? large.length));
        expect(found.sizeBytes).toBe(expected.length);
        expect(await buffer(found.body)).toEqual(expected);
      }
      await expect(store.get('known', { range: { offset: large.length } })).rejects.toMatchObject({
        code: 'invalid',
      });
    });

    it('lists the keys that begin with a prefix, in order', async () => {
      const all = ['a', 'a/b', 'a/b/c', 'a-b', 'a.b', 'aa', 'b'];
      for (const key of all.toReversed()) await put(key, key);
      expect(await keys('')).toEqual(all.toSorted());
      expect(await keys('a/')).toEqual(['a/b', 'a/b/c']);
      expect(await keys('a')).toEqual(all.toSorted().filter((key) => key !== 'b'));
      expect(await keys('none')).toEqual([]);
      expect(await collect(store.list('b'))).toMatchObject([{ key: 'b', sizeBytes: 1 }]);
      await store.delete('a/b');
      await store.delete('a/b');
      expect(await keys('a/')).toEqual(['a/b/c']);
      expect(await store.head('a/b')).toBeUndefined();
      await expect(store.get('a/b')).rejects.toMatchObject({ code: 'not_found' });
    });

    it.each<[string, number, (body: Readable) => void, number | undefined, string]>([
      ['fails', 100, (body) => void body.destroy(new Error('the disk failed')), undefined, 'incomplete'],
      [
        'fails in the middle of its parts',
        11 * MIB,
        (body) => void body.destroy(new Error('the disk failed')),
        12 * MIB,
        'incomplete',
      ],
      ['is shorter than stated', 100, (body) => void body.push(null), 101, 'incomplete'],
      ['is longer than stated', 6 * MIB, (body) => void body.push(null), 6 * MIB - 1, 'incomplete'],
    ])('keeps the former blob, and nothing of a body that %s', async (_what, size, end, sizeBytes, code) => {
      await put('key', 'former');
      const body = bodyThen(randomBytes(size), end);
      const failed = store.put('key', body, sizeBytes === undefined ? {} : { sizeBytes });
      await expect(failed).rejects.toMatchObject({ code });
      expect(body.destroyed).toBe(true);
      expect(await read('key')).toBe('former');
      expect(await findUnfinished()).toEqual([]);
    });

    it('stores nothing when the signal aborts, also while the body is silent', async () => {
      const aborted = AbortSignal.abort();
      await expect(store.put('key', Readable.from(['x']), { signal: aborted })).rejects.toMatchObject({
        code: 'aborted',
      });
      const abort = new AbortController();
      const body = bodyThen(randomBytes(11 * MIB), () => abort.abort());
      const failed = store.put('key', body, { sizeBytes: 12 * MIB, signal: abort.signal });
      await expect(failed).rejects.toMatchObject({ code: 'aborted' });
      expect(body.destroyed).toBe(true);
      expect(await keys('')).toEqual([]);
      await expect(store.head('key', { signal: aborted })).rejects.toMatchObject({ code: 'aborted' });
      await expect(collect(store.list('', { signal: aborted }))).rejects.toMatchObject({ code: 'aborted' });
    });

    it('ends a body that is read when the signal aborts', async () => {
      await store.put('key', Readable.from([randomBytes(6 * MIB)]));
      const abort = new AbortController();
      const { body } = await store.get('key', { signal: abort.signal });
      await once(body, 'readable');
      abort.abort();
      await expect(buffer(body)).rejects.toMatchObject({ name: 'BlobError', code: 'aborted' });
      // A reader may also stop.
      (await store.get('key')).body.destroy();
    });

    it('refuses keys that could lead elsewhere, and ranges of nothing', async () => {
      for (const key of [
        '',
        '/a',
        'a/',
        'a//b',
        '.',
        '..',
        'a/../b',
        '.a',
        'a b',
        'a\0',
        'ä',
        'a+b',
        'a'.repeat(201),
      ])
        for (const call of [
          () => put(key, ''),
          () => store.get(key),
          () => store.head(key),
          () => store.delete(key),
        ])
          await expect(call(), key).rejects.toMatchObject({ code: 'invalid' });
      await expect(collect(store.list('../'))).resolves.toEqual([]);
      await expect(collect(store.list('a b'))).rejects.toMatchObject({ code: 'invalid' });
      await put('key', 'x');
      for (const range of [{ offset: -1 }, { offset: 0.5 }, { offset: 0, length: 0 }])
        await expect(store.get('key', { range })).rejects.toMatchObject({ code: 'invalid' });
    });

    it('stores and reads many blobs at the same time', async () => {
      const all = Array.from({ length: 20 }, (_, index) => `many/${index}`);
      await Promise.all(all.map((key) => put(key, key)));
      expect(await Promise.all(all.map(read))).toEqual(all);
      await put('same', 'x');
      await Promise.all(all.map((content) => put('same', content)));
      expect(all).toContain(await read('same'));
    });
  });
};
