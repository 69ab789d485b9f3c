import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { equivalents, listStale } from './equivalent.ts';
import { groups } from './groups.ts';
import { listMutants } from './mutants.ts';

const root = join(import.meta.dirname, '../../../..');
const list = (patterns: string[]): string[] =>
  patterns.flatMap((pattern) => globSync(pattern, { cwd: root }));

it('each defect that counts as equivalent is one of a file that is measured', () => {
  const files = groups.flatMap(({ mutate }) => list(mutate));
  expect(equivalents.filter(({ file }) => !files.includes(file))).toEqual([]);
  for (const file of new Set(equivalents.map((entry) => entry.file)))
    expect(listStale(file, listMutants(readFileSync(join(root, file), 'utf8')))).toEqual([]);
});

it('each pattern of a group names at least one file, and each file is in one group', () => {
  const patterns = groups.flatMap(({ mutate, tests }) => [...mutate, ...tests]);
  expect(patterns.filter((pattern) => list([pattern]).length === 0)).toEqual([]);
  const files = groups.flatMap(({ mutate }) => list(mutate));
  expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([]);
});
