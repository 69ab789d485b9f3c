import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { measureEntries } from './measure-entries.ts';

it('measures what each entry takes on the disk, a file with several names once, and follows no link', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-measure-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const name of ['a', 'b']) mkdirSync(join(folder, name, 'deep'), { recursive: true });
  const file = join(folder, 'a/deep/file');
  writeFileSync(file, 'x'.repeat(100_000));
  linkSync(file, join(folder, 'b/deep/same'));
  symlinkSync('/usr', join(folder, 'b/link'));
  writeFileSync(join(folder, 'sparse'), '');
  truncateSync(join(folder, 'sparse'), 2 ** 30);
  const sizes = await measureEntries(folder);
  const { blocks } = statSync(file);
  const [a = 0, b = 0, sparse] = ['a', 'b', 'sparse'].map((name) => sizes.get(name));
  expect(a + b).toBeGreaterThanOrEqual(blocks * 512);
  expect(a + b).toBeLessThan(2 * blocks * 512);
  expect(sparse).toBe(0);
  expect(await measureEntries(join(folder, 'none'))).toEqual(new Map());
});
