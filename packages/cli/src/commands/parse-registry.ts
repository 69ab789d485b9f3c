import { InvalidArgumentError } from 'commander';

/** Parses the authority of a registry, `host[:port]`. */
export function parseRegistry(text: string): string {
  const isAuthority = /^(?:\[[0-9a-f:]+\]|[a-z0-9-]+(?:\.[a-z0-9-]+)*)(?::\d{1,5})?$/i.test(text);
  if (!isAuthority || !URL.canParse(`https://${text}`))
    throw new InvalidArgumentError('the registry must be a host, with its port if it has one.');
  return text.toLowerCase();
}
