import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/**
 * Runs a Node program to its end and returns what it printed; throws with what it wrote to stderr when it fails. `through` is a
 * command that runs the command appended to it elsewhere, such as in other namespaces.
 */
export async function runProgram(
  program: string,
  argv: readonly string[],
  { input = '', through = [] }: { input?: string | undefined; through?: readonly string[] } = {},
): Promise<string> {
  const [file, ...before] = [...through, process.execPath];
  const child = spawn(file, [...before, program, ...argv], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.end(input);
  const [printed, complained, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}\n${complained}`);
  return printed;
}
