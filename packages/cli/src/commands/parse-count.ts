import { InvalidArgumentError } from 'commander';

const parseUpTo =
  (most: number) =>
  (text: string): number => {
    const count = Number(text);
    if (!/^\d+$/.test(text) || count > most)
      throw new InvalidArgumentError(`the count must be a whole number from 0 to ${most}.`);
    return count;
  };

/** Parses a whole number. Each one takes memory, and a number beyond any host is a typing error. */
export const parseCount = parseUpTo(1000);

/** Parses a whole number of what many hosts have together. */
export const parseTotalCount = parseUpTo(1_000_000);
