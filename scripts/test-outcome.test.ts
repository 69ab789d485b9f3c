import { describe, expect, it } from 'vitest';
import { toOutcome, type VitestReport } from './test-outcome.ts';

const passed = { status: 'passed', fullName: 'the feature works' };
const toReport = (...testResults: VitestReport['testResults']): VitestReport => ({
  numPassedTests: 1,
  testResults,
});
const run = (report: VitestReport | undefined, status: number | null) =>
  toOutcome({ root: '/w', status, report });

describe('the outcome of a run', () => {
  it('counts what passed', () => {
    const report = toReport({
      name: '/w/a.test.ts',
      status: 'passed',
      message: '',
      assertionResults: [passed],
    });
    expect(run(report, 0)).toEqual({ passed: 1, failures: [], skipped: [] });
  });

  it('names a failed test by file, full name and the first line of its message', () => {
    const failed = {
      status: 'failed',
      fullName: 'a thing breaks',
      failureMessages: ['\n\u001b[31mError: no such thing\u001b[39m\n    at x.ts:1', 'another'],
    };
    const report = toReport({
      name: '/w/packages/a.test.ts',
      status: 'failed',
      message: '',
      assertionResults: [passed, failed],
    });
    expect(run(report, 1).failures).toEqual(['packages/a.test.ts > a thing breaks: Error: no such thing']);
  });

  it('counts a file that could not be loaded', () => {
    const report = toReport({
      name: '/w/a.test.ts',
      status: 'failed',
      message: 'Cannot find x',
      assertionResults: [],
    });
    expect(run(report, 1).failures).toEqual(['a.test.ts: Cannot find x']);
  });

  it('counts a failed run without a failed test, and a run without a report', () => {
    expect(run(toReport(), 1).failures).toEqual(['vitest: the run ended with 1 and no failed test']);
    expect(run(undefined, null).failures).toEqual(['vitest: the run ended with a signal and no failed test']);
    expect(run(undefined, 0).failures).toEqual(['vitest: the run left no report']);
  });

  it('lists skipped tests of every kind', () => {
    const assertionResults = ['pending', 'skipped', 'todo'].map((status) => ({ status, fullName: status }));
    const report = toReport({ name: '/w/a.test.ts', status: 'passed', message: '', assertionResults });
    expect(run(report, 0).skipped).toEqual(
      ['pending', 'skipped', 'todo'].map((name) => `a.test.ts > ${name}`),
    );
  });
});
