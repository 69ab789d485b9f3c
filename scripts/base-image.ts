// Makes the template `base` where it is missing, and prints what it contains: node scripts/base-image.ts
// With --write, writes docs/base-image.md.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { baseRecipes } from '../packages/images/src/base/recipe.ts';
import { toBasePage } from '../packages/testkit/src/base-image/base-page.ts';
import { readBaseImage } from '../packages/testkit/src/base-image/read-base-image.ts';
import { startStack } from '../packages/testkit/src/stack/stack.ts';

const [flag, ...others] = process.argv.slice(2);
if (others.length > 0 || (flag !== undefined && flag !== '--write'))
  throw new Error('the only option is --write');

await using stack = await startStack({ args: ['--base', 'full'] });
const sandbox = await Sandbox.create({ ...stack.connection, timeoutMs: 300_000 });
const made = readdirSync(stack.imagesDir)
  .filter((name) => /^base-.*\.json$/.test(name))
  .map((name) => JSON.parse(readFileSync(join(stack.imagesDir, name), 'utf8')) as Manifest)
  .filter(({ name }) => name === 'base')
  .map(({ createdAt }) => createdAt.slice(0, 10))
  .toSorted();
const page = toBasePage(await readBaseImage(sandbox), {
  madeOn: made.at(-1) ?? '',
  requested: Object.keys(baseRecipes.full.packages),
});
console.log(page);
if (flag === '--write') writeFileSync(join(import.meta.dirname, '../docs/base-image.md'), page);

interface Manifest {
  name: string;
  createdAt: string;
}
