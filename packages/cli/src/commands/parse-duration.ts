import { InvalidArgumentError } from 'commander';

const secondsOf: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Turns a command line word into whole seconds: `90`, `90s`, `10m`, `1h30m`. At least 1. */
export function parseDuration(text: string): number {
  const seconds = /^\d+$/.test(text)
    ? Number(text)
    : [...text.matchAll(/(\d+)([smhd])/g)].reduce(
        (sum, [, count, unit = 's']) => sum + Number(count) * (secondsOf[unit] ?? 1),
        0,
      );
  const isDuration = /^(\d+|(\d+[smhd])+)$/.test(text);
  if (!isDuration || !Number.isSafeInteger(seconds) || seconds < 1)
    throw new InvalidArgumentError('a time is at least 1 second, written 90, 90s, 10m or 1h30m.');
  return seconds;
}

/** The longest run of a sandbox, in seconds. */
export const MAX_TIME_TO_LIVE = 86_400;

/** Turns a command line word into the time to live of a sandbox, in whole seconds: a day at most. */
export function parseTimeToLive(text: string): number {
  const seconds = parseDuration(text);
  if (seconds > MAX_TIME_TO_LIVE) throw new InvalidArgumentError('a sandbox lives for 24h at most.');
  return seconds;
}
