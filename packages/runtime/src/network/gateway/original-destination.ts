import type { Socket } from 'node:net';
import { libc } from '../../kernel/native.ts';

// linux/netfilter_ipv4.h
const SOL_IP = 0;
const SO_ORIGINAL_DST = 80;
/** struct sockaddr_in */
const ADDRESS_BYTES = 16;

const nativeGetOption = libc.func('int getsockopt(int, int, int, _Out_ void *, _Inout_ uint32_t *)');

/**
 * Returns where a TCP connection over IPv4 was meant to go that a rule `redirect` of nftables has led here; undefined when none has. The
 * kernel keeps it in its table of connections.
 */
export const readOriginalDestination = (socket: Socket): { address: string; port: number } | undefined => {
  // Node has no public way to the descriptor of a connection.
  const fd = (socket as Socket & { _handle?: { fd?: number } })._handle?.fd;
  if (fd === undefined || fd < 0) return undefined;
  const bytes = Buffer.alloc(ADDRESS_BYTES);
  if (nativeGetOption(fd, SOL_IP, SO_ORIGINAL_DST, bytes, [ADDRESS_BYTES]) !== 0) return undefined;
  const destination = { address: bytes.subarray(4, 8).join('.'), port: bytes.readUInt16BE(2) };
  const isOwn = destination.address === socket.localAddress && destination.port === socket.localPort;
  return isOwn ? undefined : destination;
};
