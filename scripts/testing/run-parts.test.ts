import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Part, runParts } from './run-parts.ts';
import type { TestOutcome } from './test-outcome.ts';
import { createTestsPart } from './tests-part.ts';

let folder: string;
let printed: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-run-parts-'));
  printed = [];
  vi.spyOn(console, 'log').mockImplementation((line = '') => void printed.push(String(line)));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

const green: TestOutcome = { passed: 1, failures: [], skipped: [], failedFiles: [] };
const redFile = { path: 'a.test.ts', passed: 4, failures: ['it works: Error: no'], skipped: [] };
const toPart = (again: TestOutcome): Part => ({
  name: 'tests',
  run: async () => ({ ...green, failedFiles: [redFile] }),
  runAgain: async () => again,
});

describe('a test file that fails', () => {
  /** Each run of it appends to `runs`. The tests need no import. */
  const createFixture = (source: string): Part => {
    const runs = join(folder, 'runs');
    const config = {
      test: { globals: true, projects: [{ test: { name: 'unit', include: ['*.test.mjs'] } }] },
    };
    writeFileSync(join(folder, 'vitest.config.mjs'), `export default ${JSON.stringify(config)};`);
    writeFileSync(join(folder, 'good.test.mjs'), `it('passes', () => {});`);
    writeFileSync(
      join(folder, 'bad.test.mjs'),
      `import { appendFileSync, readFileSync } from 'node:fs';
       appendFileSync(${JSON.stringify(runs)}, 'run\\n');
       const run = readFileSync(${JSON.stringify(runs)}, 'utf8').split('\\n').length - 1;
       it('passes always', () => {});
       ${source}`,
    );
    return createTestsPart({ projects: ['unit'], root: folder, quiet: true });
  };
  const countRuns = () => readFileSync(join(folder, 'runs'), 'utf8').split('\n').length - 1;

  it('runs once more alone, and is printed as FLAKY with its first failure in a green run when it passes then', async () => {
    const part = createFixture(
      `it('works', () => expect(run).toBe(2)); it('works too', () => expect(run).toBe(2));`,
    );
    expect(await runParts([[part]])).toBe(true);
    expect(countRuns()).toBe(2);
    expect(printed.filter((line) => line.startsWith('FLAKY'))).toEqual([
      'FLAKY bad.test.mjs: works: AssertionError: expected 1 to be 2 // Object.is equality',
    ]);
    expect(printed.at(-1)).toBe('4 passed, 0 failed, 0 skipped');
  });

  it('fails the run when it fails twice, and does not run a third time', async () => {
    const part = createFixture(`it('works', () => expect(run).toBe(3));`);
    expect(await runParts([[part]])).toBe(false);
    expect(countRuns()).toBe(2);
    expect(printed.filter((line) => /^(FLAKY|failed)/.test(line))).toEqual([
      'failed: bad.test.mjs: works: AssertionError: expected 1 to be 3 // Object.is equality',
    ]);
    expect(printed.at(-1)).toBe('2 passed, 1 failed, 0 skipped');
  });

  it('does not hide an error that no test caught', async () => {
    const part = createFixture(
      `it('works', () => { if (run === 1) setTimeout(() => { throw new Error('late') }); expect(run).toBe(2); });
       it('waits', () => new Promise((resolve) => setTimeout(resolve, 50)));`,
    );
    expect(await runParts([[part]])).toBe(false);
    expect(printed).toContain('failed: vitest: unhandled error: late');
  });

  it('stays failed when running it again leaves an error of the run, or no passed test', async () => {
    for (const again of [
      { ...green, failures: ['vitest: unhandled error: late'] },
      { ...green, passed: 0 },
    ]) {
      expect(await runParts([[toPart(again)]])).toBe(false);
      expect(printed.at(-1)).toBe('5 passed, 1 failed, 0 skipped');
    }
  });

  it('does not run again when more than 20 files fail', async () => {
    const failedFiles = Array.from({ length: 21 }, (_, index) => ({ ...redFile, path: `${index}.test.ts` }));
    const runAgain = vi.fn(async () => green);
    const part: Part = { name: 'tests', run: async () => ({ ...green, failedFiles }), runAgain };
    expect(await runParts([[part]])).toBe(false);
    expect(runAgain).not.toHaveBeenCalled();
    expect(printed.at(-1)).toBe('85 passed, 21 failed, 0 skipped');
  });
});

it('runs groups in turn, and a failed file after all of them', async () => {
  const order: string[] = [];
  const part: Part = {
    ...toPart(green),
    runAgain: async () => {
      order.push('again');
      return green;
    },
  };
  const check: Part = {
    name: 'checks',
    run: async () => {
      order.push('checks');
      return { passed: 1, failures: [], skipped: [] };
    },
  };
  expect(await runParts([[part], [check]])).toBe(true);
  expect(order).toEqual(['checks', 'again']);
});

it('fails for a test that is skipped without a known reason', async () => {
  const part: Part = {
    name: 'tests',
    run: async () => ({ ...green, skipped: ['a.test.ts > it works'] }),
  };
  expect(await runParts([[part]])).toBe(false);
  expect(printed.at(-1)).toBe('1 passed, 1 failed, 1 skipped');
});

it('appends the counts to a file in place of the last line', async () => {
  const countsFile = join(folder, 'counts');
  expect(existsSync(countsFile)).toBe(false);
  for (const _ of [1, 2]) await runParts([[{ name: 'tests', run: async () => green }]], { countsFile });
  expect(readFileSync(countsFile, 'utf8')).toBe('1 0 0\n1 0 0\n');
  expect(printed.at(-1)).toBe('tests 0 s');
});
