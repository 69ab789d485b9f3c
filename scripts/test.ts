// Everything that CI runs: the checks, then the three vitest projects. Ends with a line for each failure, how long each part took,
// and the real counts alone on a line.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChecks } from './check.ts';
import { type Outcome, toOutcome, type VitestReport } from './project-outcome.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const reports = mkdtempSync(join(tmpdir(), 'skerry-test-'));
// The tests start hundreds of servers, helpers and commands from the same sources.
const env = { ...process.env, NODE_COMPILE_CACHE: join(reports, 'compile-cache') };
const times: string[] = [];

const timed = (name: string, run: () => Outcome): Outcome => {
  const started = performance.now();
  const outcome = run();
  times.push(`${name} ${Math.round((performance.now() - started) / 1000)} s`);
  return outcome;
};

const runProject = (project: string): Outcome => {
  const file = join(reports, `${project}.json`);
  const { status } = spawnSync(
    'vitest',
    ['run', '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
    { cwd: root, stdio: 'inherit', env },
  );
  const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as VitestReport) : undefined;
  return toOutcome({ project, root, status, report });
};

const outcomes = [timed('checks', () => ({ ...runChecks(), skipped: [] }))];
for (const project of ['unit', 'drivers', 'stack']) {
  outcomes.push(timed(project, () => runProject(project)));
}
rmSync(reports, { recursive: true });

const passed = outcomes.reduce((sum, outcome) => sum + outcome.passed, 0);
const failures = outcomes.flatMap((outcome) => outcome.failures);
const skipped = outcomes.flatMap((outcome) => outcome.skipped);
console.log();
for (const line of skipped) console.log(`skipped: ${line}`);
for (const line of failures) console.log(`failed: ${line}`);
console.log(times.join(', '));
console.log(`${passed} passed, ${failures.length} failed, ${skipped.length} skipped`);
process.exit(failures.length === 0 ? 0 : 1);
