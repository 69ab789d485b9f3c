import { isNodeName, nodeNameForm } from '@skerry/contract/node-name';
import { UserError } from '../user-error.ts';

/** Parses a node of a server: `name=host:port`. Throws `UserError` for any other text. */
export function parseNode(text: string): { name: string; address: string } {
  const [, name = '', address = ''] = text.match(/^([^=]*)=(.*)$/) ?? [];
  if (!isNodeName(name)) throw new UserError(`a node is name=host:port, whose name has ${nodeNameForm}.`);
  parseAddress(address);
  return { name, address };
}

/** Parses `host:port`, where an IPv6 address is in brackets. Throws `UserError` for any other text. */
export function parseAddress(text: string): { host: string; port: number } {
  const [, host = '', digits = ''] = text.match(/^(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):(\d{1,5})$/) ?? [];
  const port = Number(digits);
  if (host === '' || port > 65_535)
    throw new UserError('an address is host:port, with an IPv6 address in brackets.');
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port };
}
