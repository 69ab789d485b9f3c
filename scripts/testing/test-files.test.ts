import { globSync } from 'node:fs';
import { expect, it } from 'vitest';
import config from '../../vitest.config.ts';
import { checkoutRoot } from './run-vitest.ts';

/** The used part of a project in vitest's configuration. */
interface Project {
  test: { name: string; include: string[]; exclude?: string[] };
}

const modules = '**/node_modules/**';
const find = (include: string[], exclude: string[] = [modules]): string[] =>
  globSync(include, { cwd: checkoutRoot, exclude });

it('puts each test file into one project', () => {
  const projects = config.test?.projects as Project[];
  const names = new Map<string, string[]>();
  for (const { test } of projects)
    for (const file of find(test.include, [...(test.exclude ?? []), modules]))
      names.set(file, [...(names.get(file) ?? []), test.name]);
  const all = find(['*.test.ts', '{bench,examples,packages,scripts,site}/**/*.test.ts']);
  expect(all.length).toBeGreaterThan(500);
  expect(all.filter((file) => !names.has(file))).toEqual([]);
  // `pnpm test:more` installs what these need, and runs what `npm test` may have skipped.
  const several = [...names].filter(([, projectNames]) => projectNames.length > 1);
  expect(several).toEqual([
    ['packages/blobs/src/s3/s3.test.ts', ['unit', 'release']],
    ['packages/testkit/src/cli/completion.test.ts', ['stack', 'release']],
  ]);
});
