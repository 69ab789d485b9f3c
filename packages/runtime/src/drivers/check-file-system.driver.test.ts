import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { markAttack } from '../suite/attack-row.ts';
import { checkFileSystem } from './check-file-system.ts';

const folder = mkdtempSync(join(tmpdir(), 'skerry-check-'));
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach((test) =>
  markAttack(test, {
    attack: 'having the kernel mount a damaged file system that another node has made',
    place: 'outside',
    stoppedBy: 'e2fsck, without rights, before it is mounted',
  }),
);

const makeImage = (name: string): string => {
  const image = join(folder, name);
  writeFileSync(image, '', { mode: 0o600 });
  truncateSync(image, 16 * 2 ** 20);
  execFileSync('mkfs.ext4', ['-q', '-O', '^has_journal', '-d', import.meta.dirname, image]);
  return image;
};

it('accepts a file system that is whole, and leaves its mode', async () => {
  const image = makeImage('whole');
  await checkFileSystem(image);
  expect(statSync(image).mode & 0o777).toBe(0o600);
});

it.each([
  ['an inode of a folder', 'clri <2>'],
  ['a block that two files have', 'sif <15> block[0] 1'],
  ['the number of links', 'sif <2> links_count 9'],
])('refuses one with a lie about %s, in the words of e2fsck', async (_what, request) => {
  const image = makeImage('lying');
  execFileSync('debugfs', ['-w', '-R', request, image], { stdio: 'ignore' });
  await expect(checkFileSystem(image)).rejects.toMatchObject({
    code: 'damaged',
    message: expect.stringMatching(/its file system is damaged: .*\S/s),
  });
});

it('refuses what is no file system, and does not change it', async () => {
  const image = join(folder, 'text');
  writeFileSync(image, 'x'.repeat(10_000));
  await expect(checkFileSystem(image)).rejects.toMatchObject({ code: 'damaged' });
  expect(readFileSync(image, 'utf8')).toBe('x'.repeat(10_000));
});

it('stops when its caller leaves', async () => {
  await expect(checkFileSystem(makeImage('left'), { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'unavailable',
  });
});
