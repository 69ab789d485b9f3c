import { once } from 'node:events';
import { createServer } from 'node:net';
import { UserError } from '../user-error.ts';

/** An address at which this process will listen, and the option that names it. */
export interface ListenAddress {
  option: string;
  host: string;
  /** 0 for any. */
  port: number;
}

/** What an operator can do about the errors of `listen`. */
const mends: Record<string, string> = {
  EADDRINUSE: 'a program listens there already; name another port, 0 for a free one',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'ports below 1024 need root',
};

/**
 * Rejects with `UserError`, which names the option, when one of the addresses cannot be listened at. So an operator learns it before a
 * base image is made, which takes a minute. The addresses are free again when this resolves.
 */
export async function requireFreePorts(addresses: readonly ListenAddress[]): Promise<void> {
  for (const { option, host, port } of addresses) {
    const server = createServer();
    try {
      server.listen({ host, port });
      await once(server, 'listening');
    } catch (error) {
      const { code = '', message } = error as NodeJS.ErrnoException;
      const mend = mends[code];
      throw new UserError(`${option}: cannot listen at ${host}:${port}: ${mend ?? message}`, {
        cause: error,
      });
    }
    server.close();
    await once(server, 'close');
  }
}
