// Makes the next version of the changesets that wait, and leaves a tree on which every check passes: the lockfile, the version of the
// document, the specs that later changes are compared with, and what each library exports.
import { spawnSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toVersioned } from './release/versioned-document.ts';

const root = join(import.meta.dirname, '..');
const specs = join(root, 'specs');

run('changeset', ['version']);
const { version } = JSON.parse(readFileSync(join(root, 'packages/sdk/package.json'), 'utf8')) as {
  version: string;
};
const document = join(specs, 'openapi.yaml');
writeFileSync(document, toVersioned(readFileSync(document, 'utf8'), version));
for (const file of ['openapi.yaml', 'process/process.proto', 'filesystem/filesystem.proto']) {
  copyFileSync(join(specs, file), join(specs, 'released', file));
}
run('pnpm', ['install', '--lockfile-only', '--prefer-offline']);
run('turbo', ['run', 'gen', 'api', '--output-logs=errors-only']);
run('biome', ['check', '--write', 'packages', 'package.json']);
console.log(`this is ${version}: review, commit, and tag it v${version}`);

function run(program: string, argv: string[]): void {
  const { status, error } = spawnSync(program, argv, { cwd: root, stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
