import { InvalidArgumentError } from 'commander';

/** Turns a command line word into a TCP port; 0 stands for a free one. */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('a port is a number from 0 to 65535.');
  return port;
}
