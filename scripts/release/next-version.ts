import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Outcome } from '../testing/test-outcome.ts';
import { run } from './run.ts';
import { runSteps } from './run-steps.ts';
import { toToolVariables } from './tool-variables.ts';

const root = join(import.meta.dirname, '../..');

/**
 * Makes the next version of the commit that is checked out, in a clone of its own, and runs all checks there. Prints a line for each
 * step.
 */
export async function runNextVersion(): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-next-version-'));
  const clone = join(folder, 'clone');
  try {
    return await runSteps('next version', async (step) => {
      const isSetUp = await step('clone and set up', () => {
        run('git', ['clone', '--quiet', root, clone], { cwd: folder });
        run('node', ['scripts/run.mjs', 'setup'], { cwd: clone });
        return true;
      });
      if (isSetUp === undefined) return;
      const env = toToolVariables(clone);
      const isMade = await step('pnpm release:version changes the versions', () => {
        const before = readVersion(clone);
        run('pnpm', ['release:version'], { cwd: clone, env });
        const after = readVersion(clone);
        const waiting = run('git', ['ls-files', '--deleted', '.changeset'], { cwd: clone });
        if (waiting !== '' && before === after) throw new Error(`it is ${after} as before`);
        return true;
      });
      if (isMade === undefined) return;
      await step('pnpm check is green with them', () => run('pnpm', ['check'], { cwd: clone, env }));
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const readVersion = (clone: string): string =>
  run('node', ['-p', 'require("./packages/sdk/package.json").version'], { cwd: clone }).trim();
