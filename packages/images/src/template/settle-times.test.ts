import {
  lstatSync,
  lutimesSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { settleTimes } from './settle-times.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skerry-times-'));
});
afterEach(() => rmSync(root, { recursive: true }));

const at = (name: string): string => join(root, name);
const readSeconds = (...names: string[]): number[] => names.map((name) => lstatSync(at(name)).mtimeMs / 1000);

it('gives what is new the time of the newest that is not, also folders and links', async () => {
  const sinceMs = statSync(root).mtimeMs;
  mkdirSync(at('folder'));
  for (const name of ['folder/old', 'folder/older', 'new']) writeFileSync(at(name), '');
  symlinkSync('/nowhere', at('link'));
  symlinkSync('/nowhere', at('folder/link'));
  utimesSync(at('folder/old'), 5, 2_000.5);
  utimesSync(at('folder/older'), 5, 1_000);
  lutimesSync(at('folder/link'), 5, 7);
  await settleTimes(root, { sinceMs });
  expect(readSeconds('.', 'folder', 'new', 'link')).toEqual([2_000, 2_000, 2_000, 2_000]);
  expect(readSeconds('folder/old', 'folder/older', 'folder/link')).toEqual([2_000.5, 1_000, 7]);
});

it('gives all the same time when all is new, and ends with its signal', async () => {
  const sinceMs = statSync(root).mtimeMs;
  writeFileSync(at('new'), '');
  await settleTimes(root, { sinceMs });
  expect(readSeconds('.', 'new')).toEqual([0, 0]);
  const reason = new Error('enough');
  await expect(settleTimes(root, { sinceMs, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});
