// Everything that CI runs: the checks, then the three vitest projects; ends with the real counts alone on a line.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChecks } from './check.ts';

interface VitestReport {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  success: boolean;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string }[];
  }[];
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const reports = mkdtempSync(join(tmpdir(), 'skerry-test-'));
const total = { ...runChecks(), skipped: 0 };

for (const project of ['unit', 'drivers', 'stack']) {
  const file = join(reports, `${project}.json`);
  const { status } = spawnSync(
    'vitest',
    ['run', '--project', project, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
    { cwd: root, stdio: 'inherit' },
  );
  const report = JSON.parse(readFileSync(file, 'utf8')) as VitestReport;
  total.passed += report.numPassedTests;
  total.failed += report.numFailedTests;
  total.skipped += report.numPendingTests + report.numTodoTests;
  // A file that could not be loaded has no failed test of its own, and must count all the same.
  const broken = report.testResults.filter(
    (result) =>
      result.status === 'failed' && result.assertionResults.every((test) => test.status !== 'failed'),
  );
  total.failed += broken.length;
  if (status !== 0 && report.numFailedTests === 0 && broken.length === 0) total.failed += 1;
  for (const result of report.testResults) {
    for (const test of result.assertionResults) {
      if (test.status === 'pending' || test.status === 'skipped') console.log(`skipped: ${test.fullName}`);
    }
  }
}
rmSync(reports, { recursive: true });
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(total.failed === 0 ? 0 : 1);
