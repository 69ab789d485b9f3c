import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createManualClock } from '../../testing/manual-clock.ts';
import { type ContextStore, createContextStore } from './context-store.ts';

const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];
async function* bodyOf(...pieces: (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield Buffer.from(piece);
  }
}

describe('the store of contexts', () => {
  let folder: string;
  let spareBytes: number;
  let store: ContextStore;
  const { clock, advance } = createManualClock();
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'skerry-contexts-')), 'contexts');
    spareBytes = 1_000;
    store = createContextStore({ folder, maxBytes: 100, readSpareBytes: () => spareBytes, clock });
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
