import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { mergeFolder } from './merge-folder.ts';

/** Two folders, of which the first has "sub/new". */
const makeFolders = (): [from: string, to: string] => {
  const base = mkdtempSync(join(tmpdir(), 'skerry-merge-'));
  onTestFinished(() => rmSync(base, { recursive: true }));
  mkdirSync(join(base, 'from', 'sub'), { recursive: true });
  writeFileSync(join(base, 'from', 'sub', 'new'), 'new');
  return [join(base, 'from'), join(base, 'to')];
};

it('moves a folder to where nothing is', async () => {
  const [from, to] = makeFolders();
  await mergeFolder(from, to);
  expect(readFileSync(join(to, 'sub', 'new'), 'utf8')).toBe('new');
});

it('keeps what a folder has besides, and replaces files of the same name', async () => {
  const [from, to] = makeFolders();
  mkdirSync(join(to, 'sub'), { recursive: true });
  for (const name of ['new', 'kept']) writeFileSync(join(to, 'sub', name), 'old');
  await mergeFolder(from, to);
  expect(readdirSync(join(to, 'sub')).map((name) => readFileSync(join(to, 'sub', name), 'utf8'))).toEqual([
    'old',
    'new',
  ]);
});

it('follows no link that is there, and replaces no file by a folder', async () => {
  for (const hinder of [
    (path: string) => symlinkSync(tmpdir(), path),
    (path: string) => writeFileSync(path, 'a file'),
  ]) {
    const [from, to] = makeFolders();
    mkdirSync(to);
    hinder(join(to, 'sub'));
    await expect(mergeFolder(from, to)).rejects.toMatchObject({ code: 'ENOTDIR' });
  }
});
