import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface TimedProgram {
  file: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>> | undefined;
  /** Whether it is killed at its first output. */
  kills?: boolean;
}

/**
 * From spawning a program to the first byte of its output, in milliseconds; resolves when it has ended. Rejects with
 * its stderr when it ends without output.
 */
export async function timeFirstOutput({ file, args, env, kills = false }: TimedProgram): Promise<number> {
  const started = performance.now();
  const child = spawn(file, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let elapsedMs: number | undefined;
  let complaint = '';
  child.stdout.on('data', () => {
    elapsedMs ??= performance.now() - started;
    if (kills) child.kill('SIGKILL');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-1_000);
  });
  await once(child, 'close');
  if (elapsedMs === undefined) throw new Error(`${file} wrote nothing: ${complaint.trim()}`);
  return elapsedMs;
}
