import type { Log } from '@skerry/platform';

/** Warns the operator of a port that other machines can reach: the server speaks plain HTTP. */
export const warnOfOpenPort = (host: string, log: Pick<Log, 'warn'>): void => {
  if (isLoopback(host)) return;
  log.warn(
    'the port is open to other machines without TLS: keys, tokens and data can be read on the network. Put a proxy with a certificate in front, and listen on 127.0.0.1',
    { host },
  );
};

/** Whether only this machine can reach it. In doubt it is not: a name may stand for any address. */
const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
