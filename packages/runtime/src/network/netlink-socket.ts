import { closeSync } from 'node:fs';
import { getSystemErrorName, promisify } from 'node:util';
import koffi from 'koffi';
import { RuntimeError } from '../error.ts';
import { parseAnswers, type RouteRequest, toMessages } from './netlink-message.ts';

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const NETLINK_ROUTE = 0;
const MSG_DONTWAIT = 0x40;

const libc = koffi.load(null);
const nativeSocket = libc.func('int socket(int, int, int)');
const nativeSend = libc.func('long send(int, const void *, size_t, int)');
const nativeReceive = libc.func('long recv(int, _Out_ void *, size_t, int)');
const sendAside = promisify(nativeSend.async) as (...args: unknown[]) => Promise<number>;

/** How this process changes links, addresses and routes: without starting `ip`, which costs more than what it does. */
export interface RouteSocket {
  /**
   * Carries the requests out in order and resolves when all are done. Rejects with `internal`, naming the error of the
   * first that failed, when any did; the others may have been carried out.
   */
  perform(requests: readonly RouteRequest[]): Promise<void>;
  close(): void;
}

/** Opens a socket to the network namespace that this thread is in now; it stays with that one. */
export function openRouteSocket(): RouteSocket {
  const fd = nativeSocket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) as number;
  if (fd < 0) throw new RuntimeError('internal', 'a netlink socket could not be opened');
  return {
    perform: async (requests) => {
      const messages = toMessages(requests);
      // On another thread: the kernel does the work before it returns, and may wait for other changes to finish.
      const sent = await sendAside(fd, messages, messages.length, 0);
      if (sent !== messages.length) throw new RuntimeError('internal', 'a netlink request could not be sent');
      const failed = receiveAnswers(fd, requests.length).find(({ errno }) => errno !== 0);
      if (failed) {
        const name = getSystemErrorName(-failed.errno);
        throw new RuntimeError('internal', `netlink request ${failed.index} failed with ${name}`);
      }
    },
    close: () => closeSync(fd),
  };
}

function receiveAnswers(fd: number, count: number): { index: number; errno: number }[] {
  const answers: { index: number; errno: number }[] = [];
  const buffer = Buffer.alloc(32_768);
  while (answers.length < count) {
    // All answers are there once the request was sent.
    const received = nativeReceive(fd, buffer, buffer.length, MSG_DONTWAIT) as number;
    if (received <= 0) throw new RuntimeError('internal', 'the kernel did not answer a netlink request');
    answers.push(...parseAnswers(buffer.subarray(0, received)));
  }
  return answers;
}
