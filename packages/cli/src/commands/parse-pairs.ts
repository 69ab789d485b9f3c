import { InvalidArgumentError } from 'commander';

/** Adds one `key=value` word to those before it; a value may hold further `=`. */
export function parseMetadata(text: string, before: Record<string, string> = {}): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('metadata is written key=value.');
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Adds one `NAME=value` word to those before it; a name alone takes the value that the variable has here, as `docker run` does. */
export function parseEnvironment(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [name = '', ...rest] = text.split('=');
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    throw new InvalidArgumentError(
      'a variable is written NAME=value, or NAME for the value that it has here.',
    );
  const value = text.includes('=') ? rest.join('=') : process.env[name];
  return value === undefined ? before : { ...before, [name]: value };
}
