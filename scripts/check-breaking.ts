// Fails when the specs break programs written for the last release and no changeset says so.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareDocuments, compareProtos, findUnnamed } from './release/breaking-changes.ts';
import { mayBreak, readChangesets } from './release/changesets.ts';

const root = join(import.meta.dirname, '..');
const specs = join(root, 'specs');
const { version } = JSON.parse(readFileSync(join(root, 'packages/sdk/package.json'), 'utf8')) as {
  version: string;
};
const changes = [
  ...compareDocuments(join(specs, 'released/openapi.yaml'), join(specs, 'openapi.yaml')),
  ...compareProtos(join(specs, 'released'), specs),
];
const texts = readChangesets(root)
  .filter((changeset) => mayBreak(changeset, version))
  .map(({ text }) => text);
const unnamed = findUnnamed(changes, texts);
for (const { name, message } of unnamed) console.error(`\`${name}\`: ${message}`);
if (unnamed.length > 0) {
  const bump = version.startsWith('0.') ? 'minor' : 'major';
  console.error(`programs written for the last release break: undo it, or name each in a ${bump} changeset`);
  process.exit(1);
}
console.log(`${changes.length} breaking changes, all announced`);
