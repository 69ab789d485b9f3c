import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Runs a Node program to its end and returns what it printed; throws with what it wrote to stderr when it fails. */
export async function runProgram(program: string, argv: string[], input = ''): Promise<string> {
  const child = spawn(process.execPath, [program, ...argv], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  const [printed, complained, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}\n${complained}`);
  return printed;
}
