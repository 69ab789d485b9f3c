import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { skerryProgram } from '../stack/skerry-program.ts';

interface RunOptions {
  cwd?: string | undefined;
  /** Default: empty. */
  input?: string;
}

/** Starts the command line, without the contexts that this user has kept. It is killed at the end of the test. */
export function startSkerry(
  argv: readonly string[],
  { cwd }: Pick<RunOptions, 'cwd'> = {},
): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [skerryProgram, ...argv], {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, XDG_CONFIG_HOME: '/nowhere' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Runs the command line to its end. */
export async function runSkerry(
  argv: readonly string[],
  { input = '', cwd }: RunOptions = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = startSkerry(argv, { cwd });
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, stdout, stderr };
}
