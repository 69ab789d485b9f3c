import { InvalidArgumentError } from 'commander';

/** Adds one `key=value` word to those before it; a value may hold further `=`. */
export function parseMetadata(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('metadata is written key=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}
