import { getSystemErrorName } from 'node:util';
import { RuntimeError } from '../error.ts';
import { type NetlinkRequest, parseAnswers, toMessages } from '../kernel/netlink-message.ts';
import { openNetlink } from '../kernel/netlink-socket.ts';

/** linux/netlink.h */
const NETLINK_ROUTE = 0;

/** Changes links, addresses and routes without starting `ip`, which costs more than the change. */
export interface RouteSocket {
  /**
   * Executes the requests in order and resolves when all are done. Rejects with `internal`, naming the error of the
   * first that failed; the others may have been executed.
   */
  perform(requests: readonly NetlinkRequest[]): Promise<void>;
  close(): void;
}

/** Opens a socket to the network namespace that this thread is in now; the socket stays with that namespace. */
export function openRouteSocket(): RouteSocket {
  const socket = openNetlink(NETLINK_ROUTE);
  return {
    perform: async (requests) => {
      await socket.send(toMessages(requests));
      const answers: { index: number; errno: number }[] = [];
      while (answers.length < requests.length) answers.push(...parseAnswers(socket.receive()));
      const failed = answers.find(({ errno }) => errno !== 0);
      if (failed) {
        const name = getSystemErrorName(-failed.errno);
        throw new RuntimeError('internal', `netlink request ${failed.index} failed with ${name}`);
      }
    },
    close: () => socket.close(),
  };
}
