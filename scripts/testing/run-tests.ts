import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Outcome, toOutcome, type VitestReport } from '../test-outcome.ts';
import { runVitest } from './run-vitest.ts';

const root = join(import.meta.dirname, '../..');

/**
 * Runs these projects of vitest as one run: their files wait in one queue, so that no processor idles at the end of a project. The
 * packages are built, and are not built again: what runs beside would read them meanwhile.
 */
export async function runTests(projects: readonly string[]): Promise<Outcome> {
  // The tests start hundreds of servers, helpers and commands from the same sources.
  const compileCache = mkdtempSync(join(tmpdir(), 'skerry-compile-cache-'));
  try {
    const { status, report } = await runVitest<VitestReport>(
      projects.flatMap((project) => ['--project', project]),
      { NODE_COMPILE_CACHE: compileCache, SKERRY_BUILT: '1' },
    );
    return toOutcome({ root, status, report });
  } finally {
    rmSync(compileCache, { recursive: true, force: true });
  }
}
