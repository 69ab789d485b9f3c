import { execFileSync } from 'node:child_process';

const stty = (...args: string[]): string =>
  execFileSync('stty', args, { stdio: ['inherit', 'pipe', 'inherit'], encoding: 'utf8' }).trim();

/**
 * Passes every byte through the terminal on standard input, in both directions, and returns a function that restores
 * it.
 *
 * Uses stty(1): Node's own raw mode still turns each line feed of the output into two characters, which full-screen
 * programs on the other side do not expect.
 */
export const enterRawMode = (): (() => void) => {
  const saved = stty('-g');
  stty('raw', '-echo', '-iexten');
  return () => void stty(saved);
};
