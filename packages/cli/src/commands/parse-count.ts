import { InvalidArgumentError } from 'commander';

/** Each one takes memory, and a number beyond any host is a typing error. */
const MOST = 1000;

/** Parses a whole number. */
export function parseCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count > MOST)
    throw new InvalidArgumentError(`the count must be a whole number from 0 to ${MOST}.`);
  return count;
}
