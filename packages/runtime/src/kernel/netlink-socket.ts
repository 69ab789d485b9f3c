import { closeSync } from 'node:fs';
import { promisify } from 'node:util';
import { RuntimeError } from '../error.ts';
import { libc } from './native.ts';

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;

const nativeSocket = libc.func('int socket(int, int, int)');
const nativeSend = libc.func('long send(int, const void *, size_t, int)');
const nativeReceive = libc.func('long recv(int, _Out_ void *, size_t, int)');
const sendAside = promisify(nativeSend.async) as (...args: unknown[]) => Promise<number>;

/** A socket of netlink(7) to the kernel. */
export interface NetlinkSocket {
  /** Resolves when the kernel has carried out the messages. Rejects with `internal`. */
  send(messages: Buffer): Promise<void>;
  /**
   * The next datagram of the kernel's answer.
   * @throws RuntimeError `internal` when there is none
   */
  receive(): Buffer;
  close(): void;
}

/** Opens a socket for a protocol of linux/netlink.h to the network namespace that this thread is in now. */
export function openNetlink(protocol: number): NetlinkSocket {
  const fd = nativeSocket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol) as number;
  if (fd < 0) throw new RuntimeError('internal', 'a netlink socket could not be opened');
  const buffer = Buffer.alloc(32_768);
  return {
    send: async (messages) => {
      // Send on another thread: the kernel does the work before it returns, and may wait for other changes to
      // finish.
      const sent = await sendAside(fd, messages, messages.length, 0);
      if (sent !== messages.length) throw new RuntimeError('internal', 'a netlink request could not be sent');
    },
    receive: () => {
      // All answers exist once the request was sent, or are produced when they are read.
      const received = nativeReceive(fd, buffer, buffer.length, MSG_DONTWAIT) as number;
      if (received <= 0) throw new RuntimeError('internal', 'the kernel did not answer a netlink request');
      return Buffer.from(buffer.subarray(0, received));
    },
    close: () => closeSync(fd),
  };
}
