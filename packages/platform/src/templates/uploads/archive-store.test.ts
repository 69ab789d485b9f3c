import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock } from '../../testing/manual-clock.ts';
import { type ArchiveStore, createArchiveStore } from './archive-store.ts';

const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];
async function* bodyOf(...pieces: (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield Buffer.from(piece);
  }
}

describe('the store of archives', () => {
  let folder: string;
  let spareBytes: number;
  let store: ArchiveStore;
  const { clock, advance } = createManualClock();
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'skerry-contexts-')), 'contexts');
    spareBytes = 1_000;
    store = createArchiveStore({
      ...{ folder, maxBytes: 100, maxTotalBytes: 250, readSpareBytes: () => spareBytes, clock },
    });
  });
  afterEach(() => rmSync(join(folder, '..'), { recursive: true }));
  const list = (): string[] => readdirSync(folder).toSorted();

  it('has what was written, and the newest under one hash', async () => {
    expect(await store.has(a)).toBe(false);
    expect(await store.open(a)).toBeUndefined();
    await store.write(a, bodyOf('one', 'two'), {});
    await Promise.all([store.write(a, bodyOf('three'), {}), store.write(b, bodyOf('four'), {})]);
    expect(await store.has(a)).toBe(true);
    const context = await store.open(a);
    expect(context).toMatchObject({ sizeBytes: 5 });
    if (context) expect(String(await buffer(context.archive))).toBe('three');
    expect(list()).toEqual([a, b]);
  });

  it('keeps nothing of a body that fails, is empty, too large, or more than the host has room for', async () => {
    await expect(store.write(a, bodyOf('one', new Error('cut')), {})).rejects.toThrow('cut');
    const cases = [
      [bodyOf(), {}, 'invalid_argument'],
      [bodyOf('x'.repeat(101)), {}, 'payload_too_large'],
      [bodyOf('x'), { declaredBytes: 101 }, 'payload_too_large'],
    ] as const;
    for (const [body, options, code] of cases)
      await expect(store.write(a, body, options)).rejects.toMatchObject({ code });
    spareBytes = 9;
    await expect(store.write(a, bodyOf('x'), { declaredBytes: 10 })).rejects.toMatchObject({
      code: 'insufficient_storage',
    });
    expect(list()).toEqual([]);
  });

  it('makes room with what was used least recently and no build needs, and refuses an archive without room', async () => {
    const [c, d, e] = ['c'.repeat(64), 'd'.repeat(64), 'e'.repeat(64)];
    const put = (hash: string): Promise<void> => store.write(hash, bodyOf('x'.repeat(100)), {});
    await put(a);
    await put(b);
    await expect(put(c)).rejects.toMatchObject({ code: 'insufficient_storage' });
    expect(list()).toEqual([a, b]);
    const release = store.hold([a]);
    advance(60 * 60_000);
    await put(c);
    expect(list()).toEqual([a, c]);
    release();
    advance(60 * 60_000);
    // The one that was asked for last.
    expect(await store.has(a)).toBe(true);
    await put(d);
    expect(list()).toEqual([a, d]);
    await expect(store.write(e, bodyOf('x'), { declaredBytes: 60 })).rejects.toMatchObject({
      code: 'insufficient_storage',
    });
    expect(await store.measure()).toEqual({ count: 2, sizeBytes: 200, unneededCount: 0, unneededBytes: 0 });
    advance(60 * 60_000);
    expect(await store.measure()).toMatchObject({ unneededCount: 2, unneededBytes: 200 });
    expect(await store.prune()).toEqual({ count: 2, sizeBytes: 200 });
    expect(list()).toEqual([]);
  });

  it('removes at once what nothing holds, with a keep time of 0', async () => {
    const short = createArchiveStore({
      ...{ folder, maxBytes: 100, maxTotalBytes: 250, keptMs: 0, readSpareBytes: () => spareBytes, clock },
    });
    const release = short.hold([a]);
    await short.write(a, bodyOf('one'), {});
    // Left by a killed process.
    writeFileSync(join(folder, b), 'two');
    await short.collect();
    expect(list()).toEqual([a]);
    release();
    await short.collect();
    expect(list()).toEqual([]);
  });

  it('keeps an archive of which it has said that it is there, also while old ones are removed', async () => {
    await store.write(a, bodyOf('one'), {});
    for (let round = 0; round < 200; round += 1) {
      advance(25 * 60 * 60_000);
      // Each round asks at another moment of the removal.
      const ask = async (): Promise<boolean> => {
        for (let turn = 0; turn < round % 20; turn += 1) await setImmediate();
        return store.has(a);
      };
      const [, isThere] = await Promise.all([store.collect(), ask()]);
      const opened = await store.open(a);
      opened?.archive.destroy();
      expect(opened !== undefined).toBe(isThere);
      if (!isThere) await store.write(a, bodyOf('one'), {});
    }
  });

  it('keeps nothing of an upload during which the host comes to its reserve', async () => {
    const large = createArchiveStore({
      ...{ folder, maxBytes: 2 ** 30, maxTotalBytes: 2 ** 30, readSpareBytes: () => spareBytes, clock },
    });
    const piece = Buffer.alloc(2 ** 20);
    const body = (async function* () {
      for (let count = 0; count < 100; count += 1) {
        yield piece;
        if (count === 10) spareBytes = 0;
      }
    })();
    spareBytes = 2 ** 30;
    await expect(large.write(a, body, {})).rejects.toMatchObject({ code: 'insufficient_storage' });
    expect(list()).toEqual([]);
  });

  it('removes what was not asked for in a day and what a killed process has left, and nothing else', async () => {
    await store.collect();
    await store.write(a, bodyOf('one'), {});
    await store.write(b, bodyOf('two'), {});
    advance(20 * 60 * 60_000);
    expect(await store.has(a)).toBe(true);
    advance(5 * 60 * 60_000);
    writeFileSync(join(folder, '.upload-1'), 'half');
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow = store.write(
      'c'.repeat(64),
      (async function* () {
        await promise;
        yield Buffer.from('three');
      })(),
      {},
    );
    await expect.poll(() => list().length).toBe(4);
    await store.collect();
    expect(list()).toEqual([expect.stringMatching(/^\.upload-/), a]);
    resolve();
    await slow;
    expect(list()).toEqual([a, 'c'.repeat(64)]);
  });
});
