import { getSystemErrorName } from 'node:util';
import { RuntimeError } from '../error.ts';

/*
 * The encoding of netlink(7) and rtnetlink(7): integers in the machine's order, which is little-endian on every machine
 * that this runs on, and everything padded to 4 bytes.
 */

/** linux/netlink.h */
const NLM_F_REQUEST = 1;
const NLM_F_ACK = 4;
const NLM_F_EXCL = 0x200;
const NLM_F_CREATE = 0x400;
const NLM_F_DUMP = 0x300;
const NLMSG_ERROR = 2;
const NLMSG_DONE = 3;
const headerBytes = 16;

export interface NetlinkRequest {
  /** A number of linux/rtnetlink.h or linux/sock_diag.h. */
  type: number;
  /**
   * `create` makes an object that must not exist yet, `list` asks for all objects; without a flag the request changes
   * one.
   */
  does?: 'create' | 'list';
  /** The fixed part that every message of this type begins with. */
  fixed: Buffer;
  attributes: readonly Buffer[];
}

/** One message after the other: the kernel carries them out in this order and answers each. */
export const toMessages = (requests: readonly NetlinkRequest[]): Buffer =>
  Buffer.concat(
    requests.map(({ type, does, fixed, attributes }, index) => {
      const body = Buffer.concat([pad(fixed), ...attributes]);
      const header = Buffer.alloc(headerBytes);
      header.writeUInt32LE(headerBytes + body.length, 0);
      header.writeUInt16LE(type, 4);
      header.writeUInt16LE(NLM_F_REQUEST | (does === undefined ? NLM_F_ACK : actFlags[does]), 6);
      header.writeUInt32LE(index + 1, 8);
      return Buffer.concat([header, body]);
    }),
  );

const actFlags = { create: NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, list: NLM_F_DUMP };

/** The answers in a datagram of the kernel: the position of the request, and 0 or the number of its error. */
export const parseAnswers = (datagram: Buffer): { index: number; errno: number }[] =>
  parseMessages(datagram)
    .filter(({ type }) => type === NLMSG_ERROR)
    .map(({ sequence, body }) => ({ index: sequence - 1, errno: Math.abs(body.readInt32LE(0)) }));

/**
 * Reads one part of a list: the bodies of its messages of that type, and whether it is the last part.
 * @throws RuntimeError `internal`
 */
export function parseList(datagram: Buffer, type: number): { bodies: Buffer[]; isLast: boolean } {
  const messages = parseMessages(datagram);
  // The kernel ends a list that it could not make with the number of its error.
  const end = messages.find((message) => message.type === NLMSG_DONE || message.type === NLMSG_ERROR);
  const errno = end?.body.readInt32LE(0) ?? 0;
  if (errno !== 0)
    throw new RuntimeError('internal', `a netlink list ended with ${getSystemErrorName(errno)}`);
  const bodies = messages.filter((message) => message.type === type).map(({ body }) => body);
  return { bodies, isLast: end !== undefined };
}

interface Message {
  type: number;
  sequence: number;
  body: Buffer;
}

function parseMessages(datagram: Buffer): Message[] {
  const messages: Message[] = [];
  for (let at = 0; at + headerBytes <= datagram.length; ) {
    const length = datagram.readUInt32LE(at);
    if (length < headerBytes) break;
    messages.push({
      type: datagram.readUInt16LE(at + 4),
      sequence: datagram.readUInt32LE(at + 8),
      body: datagram.subarray(at + headerBytes, at + length),
    });
    at += (length + 3) & ~3;
  }
  return messages;
}

/** The contents of the attributes by their types, as `toAttribute` writes them one after the other. */
export function parseAttributes(bytes: Buffer): Map<number, Buffer> {
  const attributes = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= bytes.length; ) {
    const length = bytes.readUInt16LE(at);
    if (length < 4) break;
    attributes.set(bytes.readUInt16LE(at + 2), bytes.subarray(at + 4, at + length));
    at += (length + 3) & ~3;
  }
  return attributes;
}

export function toAttribute(type: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const header = Buffer.alloc(4);
  header.writeUInt16LE(4 + body.length, 0);
  header.writeUInt16LE(type, 2);
  return pad(Buffer.concat([header, body]));
}

export const toText = (text: string): Buffer => Buffer.from(`${text}\0`);

export const toUint8 = (value: number): Buffer => Buffer.from([value]);

export function toUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** Addresses are in network byte order. */
export const toAddress = (address: string): Buffer => Buffer.from(address.split('.').map(Number));

const pad = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
