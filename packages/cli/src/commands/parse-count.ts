import { InvalidArgumentError } from 'commander';

/** Each one holds memory, and a number beyond any host is a slip of the hand. */
const MOST = 1000;

/** Turns a command line word into a whole number. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count > MOST)
    throw new InvalidArgumentError(`a count is a whole number from 0 to ${MOST}.`);
  return count;
}
