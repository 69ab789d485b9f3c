import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { overlapsAny, readForeignIds } from './foreign-ids.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ids-'));
});
afterEach(() => rm(dir, { recursive: true }));

it('reads the ranges of all files that are there, and leaves broken lines out', async () => {
  await writeFile(join(dir, 'subuid'), '# users\nada:100000:65536\n1001:300000:1000\nbroken\nada:x:1\n\n');
  await writeFile(join(dir, 'subgid'), 'ada:500000:65536');
  const paths = ['subuid', 'subgid', 'missing'].map((name) => join(dir, name));
  expect(await readForeignIds(paths)).toEqual([
    { first: 100_000, count: 65_536 },
    { first: 300_000, count: 1000 },
    { first: 500_000, count: 65_536 },
  ]);
});

it('rejects when a file is there and cannot be read', async () => {
  await mkdir(join(dir, 'subuid'));
  await expect(readForeignIds([join(dir, 'subuid')])).rejects.toThrow('EISDIR');
});

it('tells ranges that share an id from ranges that only touch', () => {
  const ranges = [{ first: 100, count: 10 }];
  for (const [first, count] of [
    [95, 6],
    [109, 1],
    [90, 30],
    [104, 2],
  ] as const)
    expect(overlapsAny({ first, count }, ranges), String(first)).toBe(true);
  for (const [first, count] of [
    [90, 10],
    [110, 10],
  ] as const)
    expect(overlapsAny({ first, count }, ranges), String(first)).toBe(false);
});
