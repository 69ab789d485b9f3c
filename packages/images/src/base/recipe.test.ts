import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { baseRecipes } from './recipe.ts';

it.each([
  { name: 'base', packages: baseRecipes.full.packages },
  { name: 'base-minimal', packages: baseRecipes.minimal.packages },
])('installs what the ready-made template "$name" installs on another image', ({ name, packages }) => {
  const path = join(import.meta.dirname, '../../../../templates', name, 'Dockerfile');
  const [, list = ''] = /--no-install-recommends \\\s+(.*?) \\\n &&/s.exec(readFileSync(path, 'utf8')) ?? [];
  const names = list.split(/[\s\\]+/);
  expect(names.toSorted()).toEqual(Object.keys(packages).toSorted());
});
