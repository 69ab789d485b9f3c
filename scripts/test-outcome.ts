import { relative } from 'node:path';

/** The used part of vitest's json report. */
export interface VitestReport {
  numPassedTests: number;
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

// Colours of the terminal are not part of a message.
const colours = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** The first line with content, without colours. */
export const toFirstLine = (text: string): string =>
  text
    .replace(colours, '')
    .split('\n')
    .map((line) => line.trim())
    .find((line) => line !== '') ?? 'without a message';

/**
 * Counts a run of vitest. A file that could not be loaded has no failed test and counts as one failure, and so does a
 * failed run (`status` is not 0) without a failed test, or a run without a report.
 */
export function toOutcome(options: {
  root: string;
  status: number | null;
  report: VitestReport | undefined;
}): Outcome {
  const { root, status, report } = options;
  const failures: string[] = [];
  const skipped: string[] = [];
  for (const { name, status: ended, message, assertionResults } of report?.testResults ?? []) {
    const file = relative(root, name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    for (const { fullName, failureMessages } of failed) {
      failures.push(`${file} > ${fullName}: ${toFirstLine(failureMessages?.[0] ?? '')}`);
    }
    if (ended === 'failed' && failed.length === 0) failures.push(`${file}: ${toFirstLine(message)}`);
    for (const test of assertionResults) {
      if (!['passed', 'failed'].includes(test.status)) skipped.push(`${file} > ${test.fullName}`);
    }
  }
  if (status !== 0 && failures.length === 0) {
    failures.push(`vitest: the run ended with ${status ?? 'a signal'} and no failed test`);
  } else if (report === undefined) failures.push('vitest: the run left no report');
  return { passed: report?.numPassedTests ?? 0, failures, skipped };
}
