import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyFolderImage, sealFolderImage } from './folder-image.ts';

let dir: string;
let rootfs: string;
const to = (name: string): string => join(dir, name);

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'skerry-folder-image-'));
  rootfs = to('tree/rootfs');
  mkdirSync(join(rootfs, 'etc'), { recursive: true });
  writeFileSync(join(rootfs, 'etc/plain'), 'plain');
  chmodSync(join(rootfs, 'etc/plain'), 0o4750);
  linkSync(join(rootfs, 'etc/plain'), join(rootfs, 'hard'));
  symlinkSync('../elsewhere', join(rootfs, 'soft'));
  writeFileSync(join(rootfs, 'holes'), 'x');
  truncateSync(join(rootfs, 'holes'), 2 ** 30);
  utimesSync(join(rootfs, 'etc/plain'), 1, 12_345);
  chmodSync(rootfs, 0o751);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('copyFolderImage', () => {
  it('copies modes, times, links and holes, and the folder itself', async () => {
    const { digest, sizeBytes } = await copyFolderImage({ folder: to('tree'), path: to('copy') });
    const plain = lstatSync(to('copy/etc/plain'));
    expect([plain.mode & 0o7777, plain.mtimeMs, plain.nlink]).toEqual([0o4750, 12_345_000, 2]);
    expect(lstatSync(to('copy/hard')).ino).toBe(plain.ino);
    expect(readlinkSync(to('copy/soft'))).toBe('../elsewhere');
    const holes = lstatSync(to('copy/holes'));
    expect([holes.size, holes.blocks * 512 < 2 ** 20]).toEqual([2 ** 30, true]);
    expect(lstatSync(to('copy')).mode & 0o7777).toBe(0o751);
    expect(sizeBytes).toBeLessThan(2 ** 20);
    expect(digest).toBe((await sealFolderImage({ folder: rootfs })).digest);
  });

  it('refuses an existing folder, and leaves it', async () => {
    mkdirSync(to('copy'));
    await expect(copyFolderImage({ folder: to('tree'), path: to('copy') })).rejects.toMatchObject({
      code: 'EEXIST',
    });
    expect(existsSync(to('copy'))).toBe(true);
  });

  it('leaves nothing when the caller aborts, and where there is no room', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(copyFolderImage({ folder: to('tree'), path: to('copy'), signal })).rejects.toThrow('enough');
    const requireRoom = (): never => {
      throw new Error('full');
    };
    await expect(copyFolderImage({ folder: to('tree'), path: to('copy'), requireRoom })).rejects.toThrow(
      'full',
    );
    expect(existsSync(to('copy'))).toBe(false);
  });
});

describe('the digest of a folder', () => {
  const changeByte = (): void => {
    const path = join(rootfs, 'etc/plain');
    const { atime, mtime } = lstatSync(path);
    writeFileSync(path, 'plaim');
    utimesSync(path, atime, mtime);
  };
  const seal = async (): Promise<string> => (await sealFolderImage({ folder: rootfs })).digest;

  it.each([
    ['a byte', () => changeByte()],
    ['a mode', () => chmodSync(join(rootfs, 'hard'), 0o750)],
    ['a time', () => utimesSync(join(rootfs, 'etc/plain'), 1, 12_346)],
    ['a hard link', () => rmSync(join(rootfs, 'hard'))],
    ['an empty folder', () => mkdirSync(join(rootfs, 'empty'))],
  ])('changes with %s', async (_what, change) => {
    const before = await seal();
    expect(before).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(await seal()).toBe(before);
    change();
    expect(await seal()).not.toBe(before);
  });
});
