import { resolve } from 'node:path';
import type { AcmeOptions, TlsOptions } from '@skerry/server';
import { UserError } from '@skerry/server/user-error';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../parse-duration.ts';
import { parsePort } from '../parse-port.ts';
import { OPTION_GROUPS } from './option-groups.ts';

/** The flags of `withTlsOptions`. */
export interface TlsFlags {
  tlsCert?: string;
  tlsKey?: string;
  acme?: boolean;
  acmeHook?: string;
  acmeDns?: { host: string; port: number };
  acmeDnsKey?: string;
  acmeEmail?: string;
  acmeUrl: string;
  acmeWait: number;
  plainHttp?: boolean;
  httpRedirect?: number;
  hsts?: number;
}

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory';

/** Adds the flags that say how a server protects its port. */
export const withTlsOptions = (command: Command): Command =>
  command
    .optionsGroup(OPTION_GROUPS.tls)
    .addOption(
      new Option(
        '--tls-cert <file>',
        'PEM certificate for the domain and *.DOMAIN, then those that lead to its authority; read again when it changes',
      ).env('SKERRY_TLS_CERT'),
    )
    .addOption(new Option('--tls-key <file>', 'its key, as PEM').env('SKERRY_TLS_KEY'))
    .addOption(
      new Option(
        '--acme',
        'get and renew a certificate for the domain and *.DOMAIN from an ACME authority, and agree to its terms',
      ).conflicts(['tlsCert', 'tlsKey']),
    )
    .addOption(
      new Option(
        '--acme-hook <program>',
        'program that sets the records of its challenges in the DNS: PROGRAM add|remove NAME VALUE',
      ).conflicts('acmeDns'),
    )
    .option(
      '--acme-dns <host:port>',
      'DNS server that takes them as updates (RFC 2136), port 53 by default',
      parseDnsServer,
    )
    .option('--acme-dns-key <file>', 'its TSIG key, as tsig-keygen writes it')
    .option('--acme-email <address>', 'where the authority can reach you')
    .option('--acme-url <url>', 'directory of the authority', parseDirectoryUrl, LETS_ENCRYPT)
    .option(
      '--acme-wait <time>',
      'how long the DNS servers of the domain take to have a new record',
      parseDuration,
      30,
    )
    .option(
      '--plain-http',
      'allow a --host that other machines reach without TLS: behind a proxy that ends it',
    )
    .option(
      '--http-redirect <port>',
      'a port for plain HTTP that sends callers to the one with TLS, 0 for a free one',
      parsePort,
    )
    .option('--hsts <time>', 'tell browsers to use TLS alone for so long', parseDuration);

/** What those flags mean. Throws `UserError` for flags that do not go together. */
export const toTlsOptions = (flags: TlsFlags): TlsOptions => {
  const { tlsCert: cert, tlsKey: key } = flags;
  if ((cert === undefined) !== (key === undefined))
    throw new UserError('--tls-cert and --tls-key go together');
  const acme = toAcmeOptions(flags);
  if (cert === undefined && acme === undefined)
    for (const [option, value] of [
      ['--hsts', flags.hsts],
      ['--http-redirect', flags.httpRedirect],
    ])
      if (value !== undefined) throw new UserError(`${option} needs --tls-cert or --acme`);
  return {
    ...(cert && key ? { tls: { cert: resolve(cert), key: resolve(key) } } : {}),
    acme,
    allowsPlainHttp: flags.plainHttp ?? false,
    httpRedirectPort: flags.httpRedirect,
    hstsSeconds: flags.hsts,
  };
};

function toAcmeOptions(flags: TlsFlags): AcmeOptions | undefined {
  const { acme, acmeHook: hook, acmeDns: server, acmeDnsKey: keyFile } = flags;
  if (!acme) {
    if (hook ?? server ?? keyFile ?? flags.acmeEmail)
      throw new UserError('--acme-hook, --acme-dns, --acme-dns-key and --acme-email need --acme');
    return undefined;
  }
  const common = { directoryUrl: flags.acmeUrl, email: flags.acmeEmail, waitMs: flags.acmeWait * 1_000 };
  if (hook !== undefined) {
    // A name alone is looked up in PATH.
    return { ...common, challenge: { hook: hook.includes('/') ? resolve(hook) : hook } };
  }
  if (server === undefined || keyFile === undefined)
    throw new UserError('--acme needs --acme-hook, or --acme-dns with --acme-dns-key', {
      hint: 'a certificate for *.DOMAIN needs records in the DNS, which one of them sets',
    });
  return { ...common, challenge: { server, keyFile: resolve(keyFile) } };
}

function parseDnsServer(text: string): { host: string; port: number } {
  const [, bracketed, bare, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([^\s:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? bare;
  if (host === undefined || Number(port ?? 53) < 1 || Number(port ?? 53) > 65_535)
    throw new InvalidArgumentError(
      'a DNS server is written ns.example.com, 192.0.2.1:53 or [2001:db8::1]:53.',
    );
  return { host, port: Number(port ?? 53) };
}

function parseDirectoryUrl(text: string): string {
  if (URL.canParse(text) && new URL(text).protocol === 'https:') return text;
  throw new InvalidArgumentError('the directory of an authority is an address of https.');
}
