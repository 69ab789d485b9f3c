import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { checkoutRoot } from './run-vitest.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-ci-run-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs `.ci/run` with this script as `npm`, whose arguments are `run`, a script, `--`, `--counts` and a file. */
function runCi(npm: string): { status: number | null; lines: string[] } {
  writeFileSync(join(folder, 'npm'), `#!/bin/sh\n${npm}\n`, { mode: 0o755 });
  const { status, stdout } = spawnSync(join(checkoutRoot, '.ci/run'), {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}` },
  });
  return { status, lines: stdout.trim().split('\n') };
}

it('runs both parts, and ends with the sum of their counts', () => {
  expect(runCi('echo "$2"; echo "20 0 3" >> "$5"')).toEqual({
    status: 0,
    lines: ['test', 'test:more', '40 passed, 0 failed, 6 skipped'],
  });
});

it('runs the second part and fails when the first has failed', () => {
  const npm = 'case $2 in test) echo "7 2 0" >> "$5"; exit 1;; *) echo "5 0 1" >> "$5";; esac';
  expect(runCi(npm)).toEqual({ status: 1, lines: ['12 passed, 2 failed, 1 skipped'] });
});

it.each([0, 1])('counts a part that exits with %i and without counts as a failure', (code) => {
  const npm = `case $2 in test) exit ${code};; *) echo "5 0 1" >> "$5";; esac`;
  expect(runCi(npm)).toEqual({
    status: 1,
    lines: ['failed: npm run test ended without counts', '5 passed, 1 failed, 1 skipped'],
  });
});
