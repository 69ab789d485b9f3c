import { isIP } from 'node:net';
import { isLoopback } from '@skerry/contract/counted-address';
import { UserError } from '../user-error.ts';

/** Throws `UserError` for a port that other machines can reach without TLS, unless that is asked for. */
export const requireProtection = ({
  host,
  tls,
  acme,
  allowsPlainHttp,
}: {
  host: string;
  tls?: unknown;
  acme?: unknown;
  allowsPlainHttp: boolean;
}): void => {
  if (tls !== undefined || acme !== undefined || allowsPlainHttp || isOfThisHost(host)) return;
  throw new UserError(
    `--host ${host} is open to other machines, which could read keys, tokens and data on the network without TLS`,
    {
      hint: 'name a certificate by --tls-cert and --tls-key, get one by --acme, or pass --plain-http behind a proxy that ends TLS',
    },
  );
};

/** Whether only this machine can reach it. In doubt it is not: a name may stand for any address. */
const isOfThisHost = (host: string): boolean =>
  host === 'localhost' || (isIP(host) !== 0 && isLoopback(host));
