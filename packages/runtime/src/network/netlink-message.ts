/*
 * The encoding of netlink(7) and rtnetlink(7): integers in the machine's order, which is little-endian on every machine
 * that this runs on, and everything padded to 4 bytes.
 */

/** linux/netlink.h */
const NLM_F_REQUEST = 1;
const NLM_F_ACK = 4;
const NLM_F_EXCL = 0x200;
const NLM_F_CREATE = 0x400;
const NLMSG_ERROR = 2;
const headerBytes = 16;

export interface RouteRequest {
  /** A number of linux/rtnetlink.h. */
  type: number;
  /** Makes something that must not be there yet. */
  create?: boolean;
  /** The fixed part that every message of this type begins with. */
  fixed: Buffer;
  attributes: readonly Buffer[];
}

/** One message after the other: the kernel carries them out in this order and answers each. */
export const toMessages = (requests: readonly RouteRequest[]): Buffer =>
  Buffer.concat(
    requests.map(({ type, create = false, fixed, attributes }, index) => {
      const body = Buffer.concat([pad(fixed), ...attributes]);
      const header = Buffer.alloc(headerBytes);
      header.writeUInt32LE(headerBytes + body.length, 0);
      header.writeUInt16LE(type, 4);
      header.writeUInt16LE(NLM_F_REQUEST | NLM_F_ACK | (create ? NLM_F_CREATE | NLM_F_EXCL : 0), 6);
      header.writeUInt32LE(index + 1, 8);
      return Buffer.concat([header, body]);
    }),
  );

/** The answers in a datagram of the kernel: the position of the request, and 0 or the number of its error. */
export function parseAnswers(datagram: Buffer): { index: number; errno: number }[] {
  const answers: { index: number; errno: number }[] = [];
  for (let at = 0; at + headerBytes <= datagram.length; ) {
    const length = datagram.readUInt32LE(at);
    if (length < headerBytes) break;
    if (datagram.readUInt16LE(at + 4) === NLMSG_ERROR) {
      answers.push({
        index: datagram.readUInt32LE(at + 8) - 1,
        errno: Math.abs(datagram.readInt32LE(at + headerBytes)),
      });
    }
    at += (length + 3) & ~3;
  }
  return answers;
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

/** Addresses travel in the network's order. */
export const toAddress = (address: string): Buffer => Buffer.from(address.split('.').map(Number));

const pad = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & 3)]);
