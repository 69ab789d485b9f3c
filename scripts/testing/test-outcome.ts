import { relative } from 'node:path';
import type { VitestRun } from './run-vitest.ts';

/** The used part of vitest's json report. */
export interface VitestReport {
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages?: string[] }[];
  }[];
}

/** The result of a run. `failures` has a line for each failure, enough to find it. */
export interface Outcome {
  passed: number;
  failures: string[];
  skipped: string[];
}

/** A test file that failed. Its `failures` do not repeat its path, which is relative to the root of the run. */
export interface FailedFile extends Outcome {
  path: string;
}

/** Counts `failedFiles` separately: none of their tests is in the other fields. */
export interface TestOutcome extends Outcome {
  failedFiles: FailedFile[];
}

// Colours are not part of a message.
const colours = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** The first line with content, without colours. */
export const toFirstLine = (text: string): string =>
  text
    .replace(colours, '')
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '') ?? 'without a message';

/**
 * Counts a run of vitest. A file that could not be loaded has no failed test and counts as one failure, and so does
 * each unhandled error, a failed run (`status` is not 0) without any failure, or a run without a report.
 */
export function toOutcome(run: VitestRun<VitestReport> & { root: string }): TestOutcome {
  const { root, status, report, unhandled } = run;
  const outcome: TestOutcome = { passed: 0, failures: [], skipped: [], failedFiles: [] };
  for (const result of report?.testResults ?? []) {
    const file = countFile(relative(root, result.name), result);
    if (file.failures.length > 0) {
      outcome.failedFiles.push(file);
    } else {
      outcome.passed += file.passed;
      outcome.skipped.push(...file.skipped);
    }
  }
  outcome.failures.push(...unhandled.map((message) => `vitest: unhandled error: ${toFirstLine(message)}`));
  const isFailed = outcome.failures.length + outcome.failedFiles.length > 0;
  if (status !== 0 && !isFailed) {
    outcome.failures.push(`vitest: the run ended with ${status ?? 'a signal'} and no failed test`);
  } else if (report === undefined) outcome.failures.push('vitest: the run left no report');
  return outcome;
}

function countFile(path: string, result: VitestReport['testResults'][number]): FailedFile {
  const { status: ended, message, assertionResults } = result;
  const failures = assertionResults
    .filter(({ status }) => status === 'failed')
    .map(({ fullName, failureMessages }) => `${fullName}: ${toFirstLine(failureMessages?.[0] ?? '')}`);
  if (ended === 'failed' && failures.length === 0) failures.push(toFirstLine(message));
  return {
    path,
    passed: assertionResults.filter(({ status }) => status === 'passed').length,
    failures,
    skipped: assertionResults
      .filter(({ status }) => !['passed', 'failed'].includes(status))
      .map(({ fullName }) => `${path} > ${fullName}`),
  };
}
