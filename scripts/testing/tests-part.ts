import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Part } from './run-parts.ts';
import { checkoutRoot, runVitest, type VitestOptions } from './run-vitest.ts';
import { type TestOutcome, toOutcome, type VitestReport } from './test-outcome.ts';

export interface TestsPartOptions extends Pick<VitestOptions, 'root' | 'quiet'> {
  /** Names in vitest's configuration. All files share one queue, so that no processor idles at the end of a project. */
  projects: readonly string[];
  /** Only files whose path contains one of these. Default: all. */
  paths?: readonly string[];
}

/**
 * Creates the part of a run that consists of test files. The packages are built, and are not built again: other parts
 * would read them meanwhile.
 */
export function createTestsPart(options: TestsPartOptions): Part {
  const { projects, paths = [], root = checkoutRoot, quiet = false } = options;
  const runFiles = async (files: readonly string[]): Promise<TestOutcome> => {
    // The tests start hundreds of servers, helpers and commands from the same sources.
    const compileCache = mkdtempSync(join(tmpdir(), 'skerry-compile-cache-'));
    try {
      const argv = [...files, ...projects.flatMap((project) => ['--project', project])];
      const env = { NODE_COMPILE_CACHE: compileCache, SKERRY_BUILT: '1' };
      return toOutcome({ root, ...(await runVitest<VitestReport>(argv, { root, env, quiet })) });
    } finally {
      rmSync(compileCache, { recursive: true, force: true });
    }
  };
  return {
    name: `tests of ${projects.join(', ')}`,
    run: () => runFiles(paths),
    runAgain: (path) => runFiles([join(root, path)]),
  };
}
