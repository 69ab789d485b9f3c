import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UNHANDLED_ERRORS_FILE } from './unhandled-errors.ts';

/** The folder of the checkout. */
export const checkoutRoot = join(import.meta.dirname, '../..');

/** `Report` declares the used part of vitest's json report. */
export interface VitestRun<Report> {
  /** The exit status, null after a signal. */
  status: number | null;
  /** Undefined when the run left none. */
  report: Report | undefined;
  /** The messages of errors that no test caught. */
  unhandled: string[];
}

export interface VitestOptions {
  /** The folder of the configuration. Default: the checkout. */
  root?: string;
  env?: Readonly<Record<string, string>>;
  /** Default: false, which prints the run on this terminal. */
  quiet?: boolean;
}

/** Runs vitest with these arguments. */
export async function runVitest<Report>(
  argv: readonly string[],
  { root = checkoutRoot, env = {}, quiet = false }: VitestOptions = {},
): Promise<VitestRun<Report>> {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-test-'));
  const file = join(folder, 'report.json');
  const unhandledFile = join(folder, 'unhandled.json');
  const reporters = ['default', 'json', join(import.meta.dirname, 'unhandled-errors.ts')];
  try {
    const run = spawn(
      'vitest',
      ['run', ...argv, ...reporters.map((name) => `--reporter=${name}`), `--outputFile.json=${file}`],
      {
        cwd: root,
        stdio: quiet ? 'ignore' : 'inherit',
        env: { ...process.env, ...env, [UNHANDLED_ERRORS_FILE]: unhandledFile },
      },
    );
    const [status] = (await once(run, 'close')) as [number | null];
    return {
      status,
      report: readJson<Report>(file),
      unhandled: readJson<string[]>(unhandledFile) ?? [],
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const readJson = <T>(file: string): T | undefined =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as T) : undefined;
