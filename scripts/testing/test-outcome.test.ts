import { describe, expect, it } from 'vitest';
import { toOutcome, type VitestReport } from './test-outcome.ts';

const passed = { status: 'passed', fullName: 'the feature works' };
const toReport = (...testResults: VitestReport['testResults']): VitestReport => ({ testResults });
const run = (report: VitestReport | undefined, status: number | null, unhandled: string[] = []) =>
  toOutcome({ root: '/w', status, report, unhandled });

describe('the outcome of a run', () => {
  it('counts what passed', () => {
    const report = toReport({
      name: '/w/a.test.ts',
      status: 'passed',
      message: '',
      assertionResults: [passed],
    });
    expect(run(report, 0)).toEqual({ passed: 1, failures: [], skipped: [], failedFiles: [] });
  });

  it('counts a failed file apart, and names its failed tests by full name and the first line of their messages', () => {
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
    expect(run(report, 1)).toEqual({
      passed: 0,
      failures: [],
      skipped: [],
      failedFiles: [
        {
          path: 'packages/a.test.ts',
          passed: 1,
          failures: ['a thing breaks: Error: no such thing'],
          skipped: [],
        },
      ],
    });
  });

  it('counts a file that could not be loaded', () => {
    const report = toReport({
      name: '/w/a.test.ts',
      status: 'failed',
      message: 'Cannot find x',
      assertionResults: [],
    });
    expect(run(report, 1).failedFiles).toMatchObject([{ path: 'a.test.ts', failures: ['Cannot find x'] }]);
  });

  it('counts a failed run without a failed test, and a run without a report', () => {
    expect(run(toReport(), 1).failures).toEqual(['vitest: the run ended with 1 and no failed test']);
    expect(run(undefined, null).failures).toEqual(['vitest: the run ended with a signal and no failed test']);
    expect(run(undefined, 0).failures).toEqual(['vitest: the run left no report']);
  });

  it('counts each unhandled error', () => {
    const unhandled = ['connection reset\nwhile reading', 'late'];
    expect(run(toReport(), 1, unhandled).failures).toEqual([
      'vitest: unhandled error: connection reset',
      'vitest: unhandled error: late',
    ]);
  });

  it('lists skipped tests of every kind', () => {
    const assertionResults = ['pending', 'skipped', 'todo'].map((status) => ({ status, fullName: status }));
    const report = toReport({ name: '/w/a.test.ts', status: 'passed', message: '', assertionResults });
    expect(run(report, 0).skipped).toEqual(
      ['pending', 'skipped', 'todo'].map((name) => `a.test.ts > ${name}`),
    );
  });
});
