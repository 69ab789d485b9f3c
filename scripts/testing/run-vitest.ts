import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs vitest in the checkout with these arguments, on this terminal. Resolves with its exit status, null after a signal, and
 * its json report, undefined when the run left none. `Report` declares the part of the report that the caller reads.
 */
export async function runVitest<Report>(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ status: number | null; report: Report | undefined }> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-test-'));
  const file = join(folder, 'report.json');
  try {
    const run = spawn(
      'vitest',
      ['run', ...argv, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
      { cwd: join(import.meta.dirname, '../..'), stdio: 'inherit', env: { ...process.env, ...env } },
    );
    const [status] = (await once(run, 'close')) as [number | null];
    const report = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Report) : undefined;
    return { status, report };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
