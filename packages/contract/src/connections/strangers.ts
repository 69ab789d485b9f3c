import type { Socket } from 'node:net';
import { toCountedAddress } from './counted-address.ts';
import type { QuietLog } from './quiet-log.ts';

export interface StrangerBounds {
  /** The maximum of connections that have not shown who they are, from all addresses. */
  all: number;
  /** The most from one address. */
  ofAddress: number;
  /** The time in which a connection must show who it is, from its first moment. */
  timeoutMs: number;
}

/** Bounds the connections of a port that may not stay yet. */
export interface Strangers {
  /** Counts a new connection. When there are too many, the oldest one ends: one that is to be accepted is young. */
  add(socket: Socket): void;
  /** Ends the count and the time limit of a connection. Takes the socket of `add`, or that of TLS on top of it. */
  accept(socket: Socket): void;
}

interface Stranger {
  /** Both ends of its connection. */
  readonly ends: string;
  readonly socket: Socket;
  readonly address: string;
  readonly timer: NodeJS.Timeout;
}

/** The log names the port with `port`, as in "the port for nodes". */
export const boundStrangers = (
  port: string,
  { bounds, log }: { bounds: StrangerBounds; log: QuietLog },
): Strangers => {
  // Both in the order in which the connections came.
  const byEnds = new Map<string, Stranger>();
  const byAddress = new Map<string, Set<Stranger>>();

  const forget = (ends: string): void => {
    const stranger = byEnds.get(ends);
    if (stranger === undefined) return;
    clearTimeout(stranger.timer);
    byEnds.delete(ends);
    const own = byAddress.get(stranger.address);
    own?.delete(stranger);
    if (own?.size === 0) byAddress.delete(stranger.address);
  };
  const end = (stranger: Stranger | undefined, message: string): void => {
    if (stranger === undefined) return;
    log(message, { address: stranger.address, open: byEnds.size });
    forget(stranger.ends);
    stranger.socket.destroy();
  };
  const makeRoom = (address: string): void => {
    const own = byAddress.get(address);
    if (own !== undefined && own.size >= bounds.ofAddress)
      end(own.values().next().value, `one address has too many unidentified connections to ${port}`);
    else if (byEnds.size >= bounds.all)
      end(byEnds.values().next().value, `there are too many unidentified connections to ${port}`);
  };

  return {
    add(socket) {
      if (socket.remoteAddress === undefined) {
        // The other side has reset it already.
        socket.destroy();
        return;
      }
      const [ends, address] = [toEnds(socket), toCountedAddress(socket.remoteAddress)];
      makeRoom(address);
      const late = (): void => end(byEnds.get(ends), `connections to ${port} were not identified in time`);
      const stranger = { ends, socket, address, timer: setTimeout(late, bounds.timeoutMs).unref() };
      byEnds.set(ends, stranger);
      byAddress.set(address, (byAddress.get(address) ?? new Set()).add(stranger));
      socket.once('close', () => {
        if (byEnds.get(ends) === stranger) forget(ends);
      });
    },
    accept: (socket) => forget(toEnds(socket)),
  };
};

/** Both ends of a connection, which a socket of TLS has in common with the one below it. */
const toEnds = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
