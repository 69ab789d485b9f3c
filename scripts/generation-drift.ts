// Generates everything again and fails when the result differs from the tree.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findDrift, type GeneratedFiles } from './find-drift.ts';

const cwd = dirname(dirname(fileURLToPath(import.meta.url)));

/** Every generated file, tracked or not. */
function readGenerated(): GeneratedFiles {
  const list = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '--', 'packages/*/src/gen/**'], {
    cwd,
    encoding: 'utf8',
  });
  const names = [...new Set(list.stdout.split('\n').filter(Boolean))];
  return new Map(names.flatMap((name) => readIfThere(name)));
}

function readIfThere(name: string): [string, string][] {
  try {
    return [[name, readFileSync(join(cwd, name), 'utf8')]];
  } catch {
    // Deleted, and git still lists it.
    return [];
  }
}

const before = readGenerated();
if (before.size === 0) throw new Error('no generated files found');
// A generator leaves a file alone that it does not write any more.
for (const name of before.keys()) rmSync(join(cwd, name));
const generated = spawnSync('turbo', ['run', 'gen', '--force', '--output-logs=errors-only'], {
  cwd,
  stdio: 'inherit',
});
if (generated.status !== 0) {
  for (const [name, text] of before) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  process.exit(1);
}
const drift = findDrift(before, readGenerated());
if (drift.length > 0) {
  console.error(
    `generated code differs from the specs: commit the output of "pnpm gen"\n${drift.join('\n')}`,
  );
  process.exit(1);
}
