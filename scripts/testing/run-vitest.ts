import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs vitest in the checkout with these arguments, on this terminal. Returns its exit status, null after a signal, and
 * its json report, undefined when the run left none. `Report` declares the part of the report that the caller reads.
 */
export function runVitest<Report>(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): { status: number | null; report: Report | undefined } {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-test-'));
  const file = join(folder, 'report.json');
  try {
    const { status } = spawnSync(
      'vitest',
      ['run', ...argv, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
      { cwd: join(import.meta.dirname, '../..'), stdio: 'inherit', env: { ...process.env, ...env } },
    );
    const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined;
    return { status, report };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
