import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

const SHOWN_CHARACTERS = 4_000;

/** Runs a program to its end and resolves with its output. Rejects with the end of that when it fails. */
export async function runTool(
  file: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const [out, complaints, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (status === 0) return out;
  const shown = `${out}${complaints}`.slice(-SHOWN_CHARACTERS);
  throw new Error(`${file} ${args.join(' ')} ended with ${status ?? 'a signal'}\n${shown}`);
}
