import { InvalidArgumentError } from 'commander';

/** Parses a TCP port; 0 selects a free one. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('the port must be a number from 0 to 65535.');
  return port;
}
