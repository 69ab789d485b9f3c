import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type ImageFiles, openImageFiles } from './image-files.ts';

let folder: string;
let files: ImageFiles;

const image = Buffer.concat([Buffer.from('head'), Buffer.alloc(8 * 2 ** 20), Buffer.from('tail')]);
const digest = `sha256:${createHash('sha256').update(image).digest('hex')}`;
const sizeBytes = image.length;
const body = (content = image): Readable =>
  Readable.from(
    Array.from({ length: Math.ceil(content.length / 65_536) }, (_, at) =>
      content.subarray(at * 65_536, (at + 1) * 65_536),
    ),
  );

const open = ({
  requireRoom = (_sizeBytes: number): void => undefined,
  check = async (_path: string): Promise<void> => undefined,
} = {}): Promise<ImageFiles> =>
  openImageFiles({
    folder: join(folder, 'templates'),
    incoming: join(folder, 'incoming'),
    requireRoom,
    check,
  });
const left = (): string[] => readdirSync(join(folder, 'incoming'));

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-images-'));
  files = await open();
});
afterEach(() => rmSync(folder, { recursive: true }));

it('keeps an image that arrives as a whole, also twice at once, and returns it', async () => {
  expect([await files.has(digest), await files.read(digest)]).toEqual([false, undefined]);
  await Promise.all([files.write({ digest, sizeBytes }, body()), files.write({ digest, sizeBytes }, body())]);
  expect(await files.has(digest)).toBe(true);
  const found = await files.read(digest);
  expect(found?.sizeBytes).toBe(sizeBytes);
  expect(image.equals(await buffer(found?.body as Readable))).toBe(true);
  const path = join(folder, 'templates', `${digest.replace(':', '-')}.ext4`);
  expect(statSync(path).blocks * 512).toBeLessThan(2 ** 20);
  expect(left()).toEqual([]);
});

it('keeps nothing of one that is cut, too long, damaged or too large for the host', async () => {
  const damaged = Buffer.from(image);
  damaged[5_000] = 1;
  for (const wrong of [image.subarray(1), Buffer.concat([image, image]), damaged])
    await expect(files.write({ digest, sizeBytes }, body(wrong))).rejects.toMatchObject({ code: 'corrupt' });
  const full = await open({
    requireRoom: () => {
      throw new Error('full');
    },
  });
  await expect(full.write({ digest, sizeBytes }, body())).rejects.toThrow('full');
  const checked: string[] = [];
  const strict = await open({
    check: async (path) => {
      checked.push(path);
      throw new Error('its file system is damaged');
    },
  });
  await expect(strict.write({ digest, sizeBytes }, body())).rejects.toThrow('its file system is damaged');
  expect(checked).toEqual([expect.stringContaining(join(folder, 'incoming'))]);
  await expect(files.write({ digest: 'sha256:../x', sizeBytes }, body())).rejects.toThrow('no digest');
  expect([await files.has(digest), left()]).toEqual([false, []]);
});

it('removes what a killed process has left', async () => {
  mkdirSync(join(folder, 'incoming', 'old'));
  writeFileSync(join(folder, 'incoming', 'old', 'part'), 'part');
  await open();
  expect(left()).toEqual([]);
});
