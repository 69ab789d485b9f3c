// All static checks of the tree: drift, format, lint, types, specs, structure, tarballs.
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Outcome, toFirstLine } from './testing/test-outcome.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tools = join(root, 'scripts/node_modules/.bin');

interface Check {
  name: string;
  command: string[];
  cwd?: string;
}

const generation: Check[] = [
  { name: 'generated code matches the specs', command: ['node', 'scripts/generation-drift.ts'] },
];
const checks: Check[] = [
  { name: 'format and lint', command: ['biome', 'ci', '--reporter=summary', '.'] },
  { name: 'typed lint', command: ['oxlint', '--type-aware', '--deny-warnings'] },
  { name: 'types', command: ['tsc', '-p', 'tsconfig.json'] },
  {
    name: 'openapi lint',
    command: [join(tools, 'redocly'), 'lint', '--config', 'redocly.yaml', 'openapi.yaml'],
    cwd: 'specs',
  },
  ...['specs', 'packages/runtime/proto', 'packages/images/proto'].flatMap((cwd) => [
    { name: `proto lint of ${cwd}`, command: [join(tools, 'buf'), 'lint'], cwd },
    {
      name: `proto format of ${cwd}`,
      command: [join(tools, 'buf'), 'format', '--diff', '--exit-code'],
      cwd,
    },
  ]),
  { name: 'breaking changes of the specs are announced', command: ['node', 'scripts/check-breaking.ts'] },
  { name: 'figures on the pages match the saved run', command: ['node', 'bench/main.ts', '--check'] },
  { name: 'nothing unused', command: ['knip'] },
  { name: 'one version of each dependency', command: ['sherif', '--no-install'] },
  { name: 'each packed tarball works alone', command: ['node', 'scripts/check-tarballs.ts'] },
  {
    name: 'API reports are up to date',
    command: ['turbo', 'run', 'api', '--only', '--output-logs=errors-only', '--', '--check'],
  },
  { name: 'clients are small in a browser', command: ['node', 'scripts/check-sizes.ts'] },
];

/**
 * Generates all code again, in its place: nothing that reads it may run meanwhile. Resolves with a failure when it was not what the
 * specs describe.
 */
export const checkGeneration = (): Promise<Outcome> => runInTurn(generation);

/**
 * Runs the other checks, of which none changes what tests read. Needs the built packages. Each failure's output is printed in full, and
 * named in `failures` with its first line.
 */
export const runChecks = (): Promise<Outcome> => runInTurn(checks);

async function runInTurn(wanted: readonly Check[]): Promise<Outcome> {
  const failures: string[] = [];
  for (const { name, command, cwd } of wanted) {
    const [program = '', ...argv] = command;
    const started = performance.now();
    const said = await promisify(execFile)(program, argv, {
      cwd: join(root, cwd ?? '.'),
      maxBuffer: 64 << 20,
    }).then(
      () => undefined,
      ({ message, stdout, stderr }: Error & { stdout: string; stderr: string }) =>
        stdout + stderr === '' ? message : stdout + stderr,
    );
    const ok = said === undefined;
    console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
    if (ok) continue;
    console.log(said);
    failures.push(`check ${name}: ${toFirstLine(said)}`);
  }
  return { passed: wanted.length - failures.length, failures, skipped: [] };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const outcomes = [
    // Without generating code, which would hide that it differs.
    await runInTurn([
      { name: 'build', command: ['turbo', 'run', 'build', '--only', '--output-logs=errors-only'] },
    ]),
    await checkGeneration(),
    await runChecks(),
  ];
  const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  console.log(`${passed} passed, ${failures.length} failed`);
  process.exit(failures.length === 0 ? 0 : 1);
}
