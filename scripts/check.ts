// Everything that can be said about the tree without running it: format, lint, types, drift, specs, structure, tarballs.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tools = join(root, 'scripts/node_modules/.bin');

interface Check {
  name: string;
  command: string[];
  cwd?: string;
}

const checks: Check[] = [
  { name: 'format and lint', command: ['biome', 'ci', '--reporter=summary', '.'] },
  { name: 'typed lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'types', command: ['turbo', 'run', 'types', '--output-logs=errors-only'] },
  { name: 'types of scripts and root', command: ['tsc', '-p', 'tsconfig.json'] },
  { name: 'generated code is what the specs give', command: ['node', 'scripts/generation-drift.ts'] },
  {
    name: 'openapi lint',
    command: [join(tools, 'redocly'), 'lint', '--config', 'redocly.yaml', 'openapi.yaml'],
    cwd: 'specs',
  },
  { name: 'proto lint', command: [join(tools, 'buf'), 'lint'], cwd: 'specs' },
  { name: 'proto format', command: [join(tools, 'buf'), 'format', '--diff', '--exit-code'], cwd: 'specs' },
  { name: 'figures in the READMEs are the measured ones', command: ['node', 'bench/main.ts', '--check'] },
  { name: 'nothing unused', command: ['knip'] },
  { name: 'one version of each dependency', command: ['sherif', '--no-install'] },
  { name: 'each packed tarball works alone', command: ['node', 'scripts/check-tarballs.ts'] },
];

/** Runs every check and returns how many passed and failed; each failure's output is printed in full. */
export function runChecks(): { passed: number; failed: number } {
  let failed = 0;
  for (const { name, command, cwd } of checks) {
    const [program = '', ...argv] = command;
    const started = performance.now();
    const result = spawnSync(program, argv, {
      cwd: join(root, cwd ?? '.'),
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    const ok = result.status === 0;
    console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
    if (ok) continue;
    failed += 1;
    console.log(`${result.error?.message ?? ''}${result.stdout ?? ''}${result.stderr ?? ''}`);
  }
  return { passed: checks.length - failed, failed };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { passed, failed } = runChecks();
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}
