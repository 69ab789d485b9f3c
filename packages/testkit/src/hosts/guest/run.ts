import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** How a program ended, and both its streams. */
export interface Ended {
  status: number | null;
  output: string;
}

/** Runs a program to its end, whatever that is. */
export async function attempt(file: string, ...args: string[]): Promise<Ended> {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, complaints, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { status, output: `${out}${complaints}` };
}

/** Runs a program and resolves with what it printed. Rejects with that when it fails. */
export async function run(file: string, ...args: string[]): Promise<string> {
  const { status, output } = await attempt(file, ...args);
  if (status !== 0)
    throw new Error(`${file} ${args.join(' ')} ended with ${status ?? 'a signal'}\n${output}`);
  return output;
}
