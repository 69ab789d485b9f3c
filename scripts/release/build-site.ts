import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type Outcome, toFirstLine } from '../test-outcome.ts';

const root = join(import.meta.dirname, '../..');

/** Builds the site of the documentation into `site/dist`. A page that leads to none that exists fails the build. */
export const buildSite = (): Outcome => {
  const { status, stderr } = spawnSync('pnpm', ['run', 'docs'], { cwd: root, encoding: 'utf8' });
  const failures = status === 0 ? [] : [`the site of the documentation: ${toFirstLine(stderr)}`];
  return { passed: status === 0 ? 1 : 0, failures, skipped: [] };
};
