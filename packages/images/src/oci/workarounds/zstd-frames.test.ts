import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { zstdCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createZstdDecoder } from './zstd-frames.ts';

const parts = ['first', '', 'x'.repeat(1 << 20), 'y'.repeat(100_000), 'last'].map((text) =>
  Buffer.from(text),
);
const frames = parts.map((part) => zstdCompressSync(part));
const skippable = Buffer.from('502a4d1803000000414243', 'hex');
const all = Buffer.concat([...frames.slice(0, 2), skippable, ...frames.slice(2)]);

const decode = async (pieces: readonly Buffer[]): Promise<Buffer> => {
  let decoded = Buffer.alloc(0);
  await pipeline(Readable.from(pieces), createZstdDecoder({ chunkSize: 4096 }), async (source) => {
    decoded = await buffer(source as AsyncIterable<Buffer>);
  });
  return decoded;
};
const cut = (bytes: Buffer, length: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / length) }, (_, n) =>
    bytes.subarray(n * length, (n + 1) * length),
  );

describe('createZstdDecoder', () => {
  it.each([1, 7, 64, all.length])('reads all frames in pieces of %i bytes', async (length) => {
    expect((await decode(cut(all, length))).equals(Buffer.concat(parts))).toBe(true);
  });

  it('reads frames that begin with a piece, and nothing of no bytes', async () => {
    expect((await decode(frames)).equals(Buffer.concat(parts))).toBe(true);
    expect(await decode([])).toHaveLength(0);
  });

  it('fails for what is no frame, also behind one', async () => {
    await expect(decode([Buffer.from('no frame at all')])).rejects.toThrow();
    await expect(decode([Buffer.concat([...frames, Buffer.from('no frame')])])).rejects.toThrow();
  });
});
