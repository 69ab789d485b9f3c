import { resolve } from 'node:path';
import type { TlsOptions } from '@skerry/server';
import { UserError } from '@skerry/server/user-error';
import { type Command, Option } from 'commander';
import { parseDuration } from '../parse-duration.ts';
import { parsePort } from '../parse-port.ts';
import { OPTION_GROUPS } from './option-groups.ts';

/** The flags of `withTlsOptions`. */
export interface TlsFlags {
  tlsCert?: string;
  tlsKey?: string;
  plainHttp?: boolean;
  httpRedirect?: number;
  hsts?: number;
}

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
  if (flags.hsts !== undefined && cert === undefined) throw new UserError('--hsts needs --tls-cert');
  if (flags.httpRedirect !== undefined && cert === undefined)
    throw new UserError('--http-redirect needs --tls-cert');
  return {
    ...(cert && key ? { tls: { cert: resolve(cert), key: resolve(key) } } : {}),
    allowsPlainHttp: flags.plainHttp ?? false,
    httpRedirectPort: flags.httpRedirect,
    hstsSeconds: flags.hsts,
  };
};
