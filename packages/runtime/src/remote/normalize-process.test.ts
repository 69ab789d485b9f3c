import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { resetOomScore } from './normalize-process.ts';

it.each(['-1000', '-1', '0', '300'])('leaves an OOM score of 0 where it was %s', (score) => {
  const dir = mkdtempSync(join(tmpdir(), 'oom-score-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  // Setting one below 0 for a process takes CAP_SYS_RESOURCE.
  const path = join(dir, 'oom_score_adj');
  writeFileSync(path, `${score}\n`);
  resetOomScore(path);
  expect(Number(readFileSync(path, 'utf8'))).toBe(0);
});
