import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { basePackages } from './recipe.ts';

it('installs what the ready-made template "base" installs on another image', () => {
  const path = join(import.meta.dirname, '../../../../templates/base/Dockerfile');
  const [, packages = ''] = /--no-install-recommends \\\s+(.*?) \\\n/s.exec(readFileSync(path, 'utf8')) ?? [];
  expect(packages.split(/\s+/)).toEqual(Object.keys(basePackages));
});
