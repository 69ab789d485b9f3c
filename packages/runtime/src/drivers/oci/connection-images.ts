import { open } from 'node:fs/promises';
import { RuntimeError } from '../../error.ts';

/**
 * Turns the connections with an outside end in the memory images of the folder into sockets without one: reading from
 * such a socket says at once that it is not connected. What stays are the connections over loopback of which both ends
 * are in the images, or that the other end has closed. Resolves with whether there are any. To be called before the
 * images are hashed. Rejects with `internal` when they cannot be understood.
 */
export const closeOutsideConnections = async (folder: string): Promise<boolean> => {
  await using file = await open(`${folder}/files.img`, 'r+');
  const bytes = await file.readFile();
  const connected = readSockets(bytes).filter(({ destination }) => destination.port !== 0);
  const known = new Set(connected.filter(({ state }) => lives.has(state)).map(toKey));
  const isKept = (socket: InetSocket): boolean => {
    if (!isLoopback(socket.source) || !isLoopback(socket.destination)) return false;
    // Datagrams have no other end that would have to be there.
    if (socket.protocol !== IPPROTO_TCP) return true;
    return socket.state === CLOSE_WAIT || (lives.has(socket.state) && known.has(toPeerKey(socket)));
  };
  const closed = connected.filter((socket) => !isKept(socket));
  for (const { destination, stateAt, protocol } of closed) {
    putVarint(bytes, destination.portAt, 0);
    if (protocol === IPPROTO_TCP) putVarint(bytes, stateAt, CLOSE);
  }
  if (closed.length > 0) await file.write(bytes, 0, bytes.length, 0);
  return closed.length < connected.length;
};

const IPPROTO_TCP = 6;
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

interface Span {
  start: number;
  end: number;
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

// criu: include/magic.h, images/fdinfo.proto, images/sk-inet.proto
const MAGIC_BYTES = 8;
const FILE_INET_SOCKET = 4;
const socketField = { protocol: 5, state: 6, sourcePort: 7, destinationPort: 8, source: 11, destination: 12 };

const readSockets = (bytes: Buffer): InetSocket[] => {
  const sockets: InetSocket[] = [];
  for (let at = MAGIC_BYTES; at < bytes.length; ) {
    const start = at + 4;
    at = start + bytes.readUInt32LE(at);
    const entry = readFields(bytes, { start, end: at }).find(({ number }) => number === FILE_INET_SOCKET);
    if (entry) sockets.push(toSocket(readFields(bytes, entry)));
  }
  return sockets;
};

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

/** A field of a protobuf message, and where its value is. */
interface Field extends Span {
  number: number;
  /** Of a field that holds bytes: how many. */
  value: number;
}

/** https://protobuf.dev/programming-guides/encoding: of the wire types, these messages have 0, 1, 2 and 5. */
const readFields = (bytes: Buffer, { start, end }: Span): Field[] => {
  const fields: Field[] = [];
  for (let at = start; at < end; ) {
    const tag = readVarint(bytes, at);
    const [number, type] = [Math.floor(tag.value / 8), tag.value % 8];
    if (type === 0) {
      const { value, end: next } = readVarint(bytes, tag.end);
      fields.push({ number, value, start: tag.end, end: next });
      at = next;
    } else if (type === 2) {
      const { value, end: from } = readVarint(bytes, tag.end);
      fields.push({ number, value, start: from, end: from + value });
      at = from + value;
    } else if (type === 1 || type === 5) {
      at = tag.end + (type === 1 ? 8 : 4);
    } else {
      throw unreadable();
    }
    if (at > end) throw unreadable();
  }
  return fields;
};

const readVarint = (bytes: Buffer, start: number): { value: number; end: number } => {
  let value = 0;
  for (let at = start; at < start + 10; at++) {
    const byte = bytes.readUInt8(at);
    value += (byte & 0x7f) * 2 ** (7 * (at - start));
    if (byte < 128) return { value, end: at + 1 };
  }
  throw unreadable();
};

/** In as many bytes as the value before: leading zeros are allowed. */
const putVarint = (bytes: Buffer, { start, end }: Span, value: number): void => {
  for (let at = start; at < end; at++) bytes[at] = (at === start ? value : 0) | (at < end - 1 ? 128 : 0);
};

const unreadable = (): RuntimeError =>
  new RuntimeError('internal', 'the memory images hold no list of files');
