import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { invalid } from '@skerry/contract/error';
import { toHostname } from '@skerry/contract/hostname';
import type { Target } from './target.ts';

export interface HostRules {
  /** The domain under which sandboxes have their host names; a port in it is ignored. */
  readonly domain: string;
  /** Further host names, without port, on which the routing headers apply. */
  readonly sharedHosts: readonly string[];
}

/**
 * Parses the sandbox and port of a request from its headers. The host name is `{port}-{sandboxID}.{domain}`, with the configured domain
 * or `localhost`; text after a second dash is ignored. On a host that many sandboxes share (`localhost`, an IP address,
 * `sandbox.{domain}`, a configured one) `E2b-Sandbox-Id` and `E2b-Sandbox-Port` decide, and elsewhere they are ignored. Returns undefined
 * for a request that is not addressed to a sandbox.
 * @throws ApiError `invalid_argument` when it is addressed to a sandbox but the address is malformed, or of another domain
 */
export const parseTarget = (headers: IncomingHttpHeaders, rules: HostRules): Target | undefined => {
  const hostname = toHostname(headers.host ?? '');
  const domains = [toHostname(rules.domain), 'localhost'];
  const id = single(headers['e2b-sandbox-id']);
  const port = single(headers['e2b-sandbox-port']);
  const isForSandboxes = domains.some((domain) => hostname === `sandbox.${domain}`);
  if (
    isForSandboxes ||
    hostname === 'localhost' ||
    isIP(hostname) !== 0 ||
    rules.sharedHosts.includes(hostname)
  ) {
    if (id !== undefined && port !== undefined) return { sandboxId: parseId(id), port: parsePort(port) };
    if (id !== undefined || port !== undefined)
      throw invalid('E2b-Sandbox-Id and E2b-Sandbox-Port must be sent together');
    if (isForSandboxes)
      throw invalid(`host ${hostname} serves many sandboxes: send E2b-Sandbox-Id and E2b-Sandbox-Port`);
    return undefined;
  }
  if (hostname.startsWith('sandbox.') && (id ?? port) !== undefined)
    throw invalid('the E2b-Sandbox headers do not count on this host: name it by --shared-host');

  const dot = hostname.indexOf('.');
  const label = dot === -1 ? hostname : hostname.slice(0, dot);
  const isOfDomain = dot !== -1 && domains.includes(hostname.slice(dot + 1));
  if (!/^[0-9]+-/.test(label) && !(isOfDomain && label.includes('-'))) return undefined;
  if (!isOfDomain)
    throw invalid(
      'host must be {port}-{sandboxID}.{domain}, with the domain of this server: --domain, or localhost',
    );
  const [portText = '', idText = ''] = label.split('-');
  return { port: parsePort(portText), sandboxId: parseId(idText) };
};

/** Returns what `parseTarget` does, and `malformed` where that throws: for an address that is malformed, or of another domain. */
export const findTarget = (
  headers: IncomingHttpHeaders,
  rules: HostRules,
): Target | 'malformed' | undefined => {
  try {
    return parseTarget(headers, rules);
  } catch {
    // `parseTarget` throws nothing else.
    return 'malformed';
  }
};

/** Whether a request is addressed to a sandbox, also when the address is malformed. */
export const isSandboxAddress = (headers: IncomingHttpHeaders, rules: HostRules): boolean =>
  findTarget(headers, rules) !== undefined;

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value.join(',') : value;

const parseId = (text: string): string => {
  if (!/^[a-z0-9]+$/.test(text)) throw invalid('sandbox id must consist of a-z and 0-9');
  return text;
};

const parsePort = (text: string): number => {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw invalid('port must be a number from 1 to 65535');
  return port;
};
