import { InvalidArgumentError } from 'commander';

/** Node's timers count at most 2^31 - 1 ms, and fire at once for a longer time. */
const MAX_SECONDS = 2_147_483;

/** Parses whole seconds within the range of a timer. */
export function parseDeadline(text: string): number {
  const seconds = Number(text);
  if (!Number.isSafeInteger(seconds) || seconds < 1 || seconds > MAX_SECONDS)
    throw new InvalidArgumentError(`the seconds must be a whole number from 1 to ${MAX_SECONDS}.`);
  return seconds;
}
