import { decode, encode, type Packet, RECURSION_AVAILABLE, RECURSION_DESIRED } from 'dns-packet';

/** A question that a sandbox asks. */
export interface Query {
  id: number;
  /** Spelled as in the message, which the answer repeats. */
  name: string;
  /** The name of a type of records, such as `A`. */
  type: string;
}

/** What a resolver answers: addresses, that there are none, that there is no such name, or that it does not answer that. */
export type Answer =
  | { code: 'NOERROR'; addresses: readonly string[]; ttlSeconds: number }
  | { code: 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED' };

const HEADER_BYTES = 12;

/** The longest query that is read: the longest name takes 255 bytes, and what clients add to fill it up fits. */
export const MAX_QUERY_BYTES = 512;
const ANSWER_COUNT_OFFSET = 6;
const RESPONSE = 0x8000;
const OPCODE = 0x7800;
const TRUNCATED = 0x0200;
const RCODES = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3, REFUSED: 5 } as const;

/** The most records of one message. Its header can claim four times 65,535. */
const MAX_RECORDS = 256;

/** More addresses would not fit into a datagram of 512 bytes, which every client takes. */
const MAX_ADDRESSES = 12;

/** Reads a query with exactly one question; undefined for anything else. Never throws. */
export const readQuery = (message: Buffer): Query | undefined => {
  if (message.length < HEADER_BYTES || message.length > MAX_QUERY_BYTES) return undefined;
  // One question, and at most the options of EDNS.
  const [questions, answers, authorities, additional] = readCounts(message);
  if (questions !== 1 || answers !== 0 || authorities !== 0 || additional > 1) return undefined;
  if ((message.readUInt16BE(2) & (RESPONSE | OPCODE)) !== 0) return undefined;
  const question = decodeSafely(message)?.questions?.[0];
  return question?.class === 'IN'
    ? { id: message.readUInt16BE(0), name: question.name, type: question.type }
    : undefined;
};

/** Writes an answer to a query. */
export const writeAnswer = (query: Query, answer: Answer): Buffer => {
  const addresses = answer.code === 'NOERROR' ? answer.addresses.slice(0, MAX_ADDRESSES) : [];
  const message = encode({
    type: 'response',
    id: query.id,
    flags: RECURSION_DESIRED | RECURSION_AVAILABLE | RCODES[answer.code],
    questions: [{ name: query.name, type: query.type as 'A', class: 'IN' }],
  });
  message.writeUInt16BE(addresses.length, ANSWER_COUNT_OFFSET);
  const ttlSeconds = answer.code === 'NOERROR' ? answer.ttlSeconds : 0;
  return Buffer.concat([message, ...addresses.map((address) => toAddressRecord(address, ttlSeconds))]);
};

/** Writes a record whose name is a pointer to that of the question: the codec would repeat the whole name. */
const toAddressRecord = (address: string, ttlSeconds: number): Buffer => {
  const record = Buffer.from([
    0xc0,
    HEADER_BYTES,
    0,
    1,
    0,
    1,
    0,
    0,
    0,
    0,
    0,
    4,
    ...address.split('.').map(Number),
  ]);
  record.writeUInt32BE(ttlSeconds, 6);
  return record;
};

/** Writes a query for the IPv4 addresses of a name. */
export const writeAddressQuery = (id: number, name: string): Buffer =>
  encode({ type: 'query', id, flags: RECURSION_DESIRED, questions: [{ type: 'A', class: 'IN', name }] });

/**
 * Reads the answer to `writeAddressQuery`, along aliases; `truncated` when it did not fit, undefined when it is no answer to that query.
 * Never throws.
 */
export const readAddressAnswer = (
  message: Buffer,
  asked: { id: number; name: string },
): Answer | 'truncated' | undefined => {
  const packet = decodeSafely(message);
  const [question] = packet?.questions ?? [];
  if (packet === undefined || question === undefined || packet.questions?.length !== 1) return undefined;
  const flags = message.readUInt16BE(2);
  if (message.readUInt16BE(0) !== asked.id || (flags & (RESPONSE | OPCODE)) !== RESPONSE) return undefined;
  if (question.type !== 'A' || question.name.toLowerCase() !== asked.name) return undefined;
  if ((flags & TRUNCATED) !== 0) return 'truncated';
  const code = flags & 0xf;
  if (code === RCODES.NXDOMAIN) return { code: 'NXDOMAIN' };
  if (code !== RCODES.NOERROR) return { code: 'SERVFAIL' };
  return { code: 'NOERROR', ...followAliases(packet, asked.name) };
};

const followAliases = (
  { answers = [] }: Packet,
  name: string,
): { addresses: string[]; ttlSeconds: number } => {
  const names = new Set([name]);
  const addresses = new Set<string>();
  let ttlSeconds = 300;
  // The records of a chain are usually in its order. Another order takes another round for each of them.
  for (let round = 0, known = 0; round < MAX_ALIASES && known < names.size; round++) {
    known = names.size;
    for (const record of answers) {
      if ((record.type !== 'A' && record.type !== 'CNAME') || !names.has(record.name.toLowerCase())) continue;
      ttlSeconds = Math.min(ttlSeconds, record.ttl ?? 0);
      if (record.type === 'A') addresses.add(record.data);
      else names.add(record.data.toLowerCase());
    }
  }
  return { addresses: [...addresses], ttlSeconds };
};

const MAX_ALIASES = 16;

const decodeSafely = (message: Buffer): Packet | undefined => {
  if (message.length < HEADER_BYTES || readCounts(message).some((count) => count > MAX_RECORDS))
    return undefined;
  try {
    return decode(message);
  } catch {
    // Whatever is no message is not answered.
    return undefined;
  }
};

/** Returns how many questions, answers, authorities, and additional records a message claims to have. */
const readCounts = (message: Buffer): [number, number, number, number] => [
  message.readUInt16BE(4),
  message.readUInt16BE(6),
  message.readUInt16BE(8),
  message.readUInt16BE(10),
];
