import { InvalidArgumentError } from 'commander';

/** Turns a command line word into whole seconds, at least 1. */
export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!Number.isSafeInteger(seconds) || seconds < 1)
    throw new InvalidArgumentError('seconds are a whole number, at least 1.');
  return seconds;
}
