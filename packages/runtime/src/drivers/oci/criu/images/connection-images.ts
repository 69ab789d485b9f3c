import { createYielder } from '../../../../concurrency/yielder.ts';
import { type Field, putVarint, type Span, unreadable } from './files-image.ts';

/**
 * Turns the connections with an outside end in the bytes of `files.img` into sockets without one: reading from such a
 * socket says at once that it is not connected. What stays are the connections over loopback of which both ends are in the
 * images, or that the other end has closed. `files` are those of kind `FILE_INET_SOCKET` in it. Rejects with `internal` when
 * they cannot be understood.
 */
export const closeOutsideConnections = async (
  bytes: Buffer,
  files: readonly Field[][],
): Promise<ConnectionChange> => {
  const yielder = createYielder();
  const connected: InetSocket[] = [];
  const known = new Set<string>();
  let needsNetwork = false;
  for (const file of files) {
    const socket = toSocket(file);
    needsNetwork ||= echoProtocols.has(socket.protocol);
    if (socket.destination.port !== 0) connected.push(socket);
    if (lives.has(socket.state)) known.add(toKey(socket));
    await yielder();
  }
  const isKept = (socket: InetSocket): boolean => {
    if (!isLoopback(socket.source) || !isLoopback(socket.destination)) return false;
    // Datagrams have no other end that would have to be there.
    if (socket.protocol !== IPPROTO_TCP) return true;
    return socket.state === CLOSE_WAIT || (lives.has(socket.state) && known.has(toPeerKey(socket)));
  };
  let hasChanged = false;
  for (const socket of connected) {
    await yielder();
    if (isKept(socket)) {
      needsNetwork = true;
      continue;
    }
    hasChanged = true;
    putVarint(bytes, socket.destination.portAt, 0);
    if (socket.protocol === IPPROTO_TCP) putVarint(bytes, socket.stateAt, CLOSE);
  }
  return { hasChanged, needsNetwork };
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

interface InetSocket {
  protocol: number;
  state: number;
  stateAt: Span;
  source: Address;
  destination: Address & { portAt: Span };
}

interface Address {
  /** In words of the network's order. One of 4 words may stand for one of IPv4. */
  words: readonly number[];
  port: number;
}

const toKey = ({ source, destination }: InetSocket): string => `${toText(source)} ${toText(destination)}`;
const toPeerKey = ({ source, destination }: InetSocket): string => `${toText(destination)} ${toText(source)}`;
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

// criu: images/fdinfo.proto, images/sk-inet.proto
export const FILE_INET_SOCKET = 4;
const socketField = { protocol: 5, state: 6, sourcePort: 7, destinationPort: 8, source: 11, destination: 12 };

const toSocket = (fields: Field[]): InetSocket => {
  const one = (number: number): Field => {
    const field = fields.find((candidate) => candidate.number === number);
    if (field === undefined) throw unreadable();
    return field;
  };
  const words = (number: number): number[] =>
    fields.filter((field) => field.number === number).map(({ value }) => value);
  const { state, destinationPort } = {
    state: one(socketField.state),
    destinationPort: one(socketField.destinationPort),
  };
  return {
    protocol: one(socketField.protocol).value,
    state: state.value,
    stateAt: state,
    source: { words: words(socketField.source), port: one(socketField.sourcePort).value },
    destination: {
      words: words(socketField.destination),
      port: destinationPort.value,
      portAt: destinationPort,
    },
  };
};
