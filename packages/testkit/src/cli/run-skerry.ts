import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { skerryProgram } from '../stack/skerry-program.ts';

interface RunOptions {
  cwd?: string | undefined;
  /** The folder of its configuration. Default: none, so that contexts that this user has kept do not count. */
  configDir?: string | undefined;
  /** Default: empty. */
  input?: string;
}

/** Starts the command line. It is killed at the end of the test. */
export function startSkerry(
  argv: readonly string[],
  { cwd, configDir = '/nowhere' }: Omit<RunOptions, 'input'> = {},
): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [skerryProgram, ...argv], {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, XDG_CONFIG_HOME: configDir },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Runs the command line to its end. */
export async function runSkerry(
  argv: readonly string[],
  { input = '', ...place }: RunOptions = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = startSkerry(argv, place);
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
