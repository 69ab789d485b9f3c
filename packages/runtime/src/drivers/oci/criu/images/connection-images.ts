import { createYielder } from '../../../../concurrency/yielder.ts';
import type { InternetSocket } from '../../../../gen/criu/images/images_pb.ts';

/**
 * Turns the connections with an outside end into sockets without one: reading from such a socket says at once that it is not
 * connected. What stays are the connections over loopback of which both ends are in the images, or that the other end has
 * closed.
 */
export const closeOutsideConnections = async (
  sockets: readonly InternetSocket[],
): Promise<ConnectionChange> => {
  const yielder = createYielder();
  const known = new Set<string>();
  for (const socket of sockets) {
    if (lives.has(socket.state)) known.add(toKey(toSource(socket), toDestination(socket)));
    await yielder();
  }
  const isKept = (socket: InternetSocket): boolean => {
    const [source, destination] = [toSource(socket), toDestination(socket)];
    if (!isLoopback(source) || !isLoopback(destination)) return false;
    // Datagrams have no other end that would have to be there.
    if (socket.protocol !== IPPROTO_TCP) return true;
    const isOtherEndKnown = lives.has(socket.state) && known.has(toKey(destination, source));
    return socket.state === CLOSE_WAIT || isOtherEndKnown;
  };
  let hasChanged = false;
  let needsNetwork = sockets.some(({ protocol }) => echoProtocols.has(protocol));
  for (const socket of sockets.filter(({ destinationPort }) => destinationPort !== 0)) {
    await yielder();
    if (isKept(socket)) {
      needsNetwork = true;
      continue;
    }
    hasChanged = true;
    socket.destinationPort = 0;
    if (socket.protocol === IPPROTO_TCP) socket.state = CLOSE;
  }
  return { hasChanged, needsNetwork };
};

/** The TCP sockets with a connection that stays, of sockets after `closeOutsideConnections`. */
export const listTcpConnections = (sockets: readonly InternetSocket[]): InternetSocket[] =>
  sockets.filter(
    ({ protocol, state, destinationPort }) =>
      protocol === IPPROTO_TCP && lives.has(state) && destinationPort !== 0,
  );

/** Both ends of a connection over loopback, from the side of `one`. */
export interface ConnectionPair {
  one: InternetSocket;
  other: InternetSocket;
}

/** The established TCP connections of which both ends are among the sockets, each from both sides. */
export const pairConnections = (sockets: readonly InternetSocket[]): ConnectionPair[] => {
  const established = sockets.filter(
    ({ protocol, state }) => protocol === IPPROTO_TCP && state === ESTABLISHED,
  );
  const known = new Map(
    established.map((socket) => [toKey(toSource(socket), toDestination(socket)), socket]),
  );
  return established.flatMap((one) => {
    const other = known.get(toKey(toDestination(one), toSource(one)));
    return other === undefined ? [] : [{ one, other }];
  });
};

export interface ConnectionChange {
  hasChanged: boolean;
  /** Whether a connection stays, or another socket that needs a network to be restored in. */
  needsNetwork: boolean;
}

const IPPROTO_TCP = 6;
/** ICMP, of either family: who may open such a socket is a setting of the network. */
const echoProtocols: ReadonlySet<number> = new Set([1, 58]);
// include/net/tcp_states.h
const [ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE, CLOSE_WAIT, LAST_ACK, CLOSING] = [
  1, 4, 5, 7, 8, 9, 11,
] as const;
const lives: ReadonlySet<number> = new Set([
  ESTABLISHED,
  FIN_WAIT1,
  FIN_WAIT2,
  CLOSE_WAIT,
  LAST_ACK,
  CLOSING,
]);

interface Address {
  /** The address in words of the network's order. One of 4 words may stand for one of IPv4. */
  words: readonly number[];
  port: number;
}

const toSource = ({ source, sourcePort }: InternetSocket): Address => ({ words: source, port: sourcePort });
const toDestination = ({ destination, destinationPort }: InternetSocket): Address => ({
  words: destination,
  port: destinationPort,
});

const toKey = (from: Address, to: Address): string => `${toText(from)} ${toText(to)}`;
const toText = (address: Address): string => `${unmap(address.words).join('.')}:${address.port}`;

const MAPPED = 0xffff0000;
const unmap = (words: readonly number[]): readonly number[] =>
  words.length === 4 && words[0] === 0 && words[1] === 0 && words[2] === MAPPED ? words.slice(3) : words;

/** 127.0.0.0/8 and ::1. */
const isLoopback = ({ words }: Address): boolean => {
  const [first = 0, ...rest] = unmap(words);
  if (rest.length === 0) return (first & 0xff) === 127;
  return first === 0 && rest[0] === 0 && rest[1] === 0 && rest[2] === 0x01000000;
};
