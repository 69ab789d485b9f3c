import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { makeFileSystemImage } from './file-system-image.ts';

let scratch: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), 'skerry-image-'));
});
afterEach(() => rmSync(scratch, { recursive: true }));

const names = Array.from({ length: 300 }, (_, index) => `${'a'.repeat(index % 200)}${index}`);

/** Makes a tree that is the same for the same names, with its entries made in the order of the names. */
const makeTree = (name: string, order: readonly string[], change: { content?: string } = {}): string => {
  const folder = join(scratch, name);
  const many = join(folder, 'rootfs/many');
  mkdirSync(many, { recursive: true });
  // Takes space in the folder, which stays there on some file systems.
  for (const one of order) writeFileSync(join(many, `${one}.gone`), '');
  for (const one of order) {
    writeFileSync(join(many, one), change.content ?? one.repeat(50));
    rmSync(join(many, `${one}.gone`));
  }
  writeFileSync(join(folder, 'rootfs/noted'), 'x');
  execFileSync('setfattr', ['-n', 'user.note', '-v', 'y'.repeat(500), join(folder, 'rootfs/noted')]);
  linkSync(join(folder, 'rootfs/noted'), join(many, 'hard'));
  symlinkSync('../elsewhere', join(many, 'soft'));
  execFileSync('find', [folder, '-exec', 'touch', '-h', '-d', '@1000000000', '{}', '+']);
  // Change only the time of access.
  utimesSync(join(many, 'hard'), Date.now() / 1000, 1_000_000_000);
  return folder;
};

it('has the same bytes for the same tree, in whatever order and at whatever time its entries were made', async () => {
  const make = (folder: string) => makeFileSystemImage({ folder, path: `${folder}.ext4` });
  const first = await make(makeTree('first', names));
  const second = await make(makeTree('second', names.toReversed()));
  // What the host allocates for the file may differ by a block.
  expect(second.digest).toBe(first.digest);
  const other = await make(makeTree('other', names, { content: 'another' }));
  expect(other.digest).not.toBe(first.digest);

  const readImage = (request: string): string =>
    execFileSync('debugfs', ['-R', request, join(scratch, 'first.ext4')], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  for (const path of ['/rootfs', '/rootfs/many/hard', '/rootfs/many/soft'])
    expect(readImage(`stat ${path}`).match(/[acm]time: 0x3b9aca00:00000000/g)).toHaveLength(3);
  const check = execFileSync('e2fsck', ['-f', '-n', join(scratch, 'first.ext4')], { encoding: 'utf8' });
  expect(check).not.toContain('?');
});
