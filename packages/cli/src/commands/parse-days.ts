import { InvalidArgumentError } from 'commander';

/** Parses how long a certificate is valid. */
export function parseDays(text: string): number {
  const days = Number(text);
  if (!/^\d+$/.test(text) || days < 1 || days > 3_650)
    throw new InvalidArgumentError('the count of days must be a whole number from 1 to 3650.');
  return days;
}
