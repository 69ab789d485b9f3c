// All static checks of the tree: format, lint, types, drift, specs, structure, tarballs.
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { toFirstLine } from './test-outcome.ts';

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
  { name: 'generated code matches the specs', command: ['node', 'scripts/generation-drift.ts'] },
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
    command: ['turbo', 'run', 'api', '--output-logs=errors-only', '--', '--check'],
  },
  { name: 'clients are small in a browser', command: ['node', 'scripts/check-sizes.ts'] },
];

/** Runs every check in turn. Each failure's output is printed in full, and named in `failures` with its first line. */
export async function runChecks(): Promise<{ passed: number; failures: string[] }> {
  const failures: string[] = [];
  for (const { name, command, cwd } of checks) {
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
  return { passed: checks.length - failures.length, failures };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { passed, failures } = await runChecks();
  console.log(`${passed} passed, ${failures.length} failed`);
  process.exit(failures.length === 0 ? 0 : 1);
}
