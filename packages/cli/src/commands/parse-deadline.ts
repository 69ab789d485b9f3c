import { InvalidArgumentError } from 'commander';

/** A timer of Node counts at most 2^31 - 1 ms, and goes off at once when it is given more. */
const MAX_SECONDS = 2_147_483;

/** Turns a command line word into whole seconds that a timer can count. */
export function parseDeadline(text: string): number {
  const seconds = Number(text);
  if (!Number.isSafeInteger(seconds) || seconds < 1 || seconds > MAX_SECONDS)
    throw new InvalidArgumentError(`seconds are a whole number from 1 to ${MAX_SECONDS}.`);
  return seconds;
}
