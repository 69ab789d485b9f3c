// Generates everything again and fails when the tree then differs from what is committed or lies there.
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const cwd = dirname(dirname(fileURLToPath(import.meta.url)));

/** A fingerprint of every generated file, tracked or not. */
function fingerprint(): string {
  const list = spawnSync('git', ['ls-files', '-co', '--exclude-standard', '--', 'packages/*/src/gen/**'], {
    cwd,
    encoding: 'utf8',
  });
  const files = list.stdout.split('\n').filter(Boolean);
  if (files.length === 0) throw new Error('no generated files found');
  return (
    spawnSync('git', ['hash-object', '--', ...files], { cwd, encoding: 'utf8' }).stdout + files.join('\n')
  );
}

const before = fingerprint();
const generated = spawnSync('turbo', ['run', 'gen', '--force', '--output-logs=errors-only'], {
  cwd,
  stdio: 'inherit',
});
if (generated.status !== 0) process.exit(1);
if (fingerprint() !== before) {
  console.error('generated code differs from the specs: commit what "pnpm gen" wrote');
  process.exit(1);
}
