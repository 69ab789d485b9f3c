/** Messages of the DNS (RFC 1035), as far as an update and its answer need them. */

export const HEADER_BYTES = 12;
const TYPE_SOA = 6;
const TYPE_TXT = 16;
const CLASS_IN = 1;
const CLASS_NONE = 254;
const OPCODE_UPDATE = 5;
/** Short, since a record lives as long as its challenge. */
const TTL_SECONDS = 60;

export const toUint16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
};

/** A name without compression, in small letters. Throws `RangeError` for a label that is empty or too long. */
export function toName(name: string): Buffer {
  const labels = name.replace(/\.$/, '').toLowerCase().split('.');
  const parts = labels.map((label) => {
    const bytes = Buffer.from(label, 'latin1');
    if (bytes.length === 0 || bytes.length > 63) throw new RangeError(`${name} is no name of the DNS`);
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  });
  return Buffer.concat([...parts, Buffer.alloc(1)]);
}

/** A change of one TXT record (RFC 2136): others of that name stay. */
export function toUpdate({
  id,
  zone,
  action,
  name,
  value,
}: {
  id: number;
  zone: string;
  action: 'add' | 'remove';
  name: string;
  /** At most 255 characters of ASCII. */
  value: string;
}): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(id, 0);
  header.writeUInt16BE(OPCODE_UPDATE << 11, 2);
  // One zone, no condition, one change, nothing more.
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(1, 8);
  const data = Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')]);
  const ttl = Buffer.alloc(4);
  if (action === 'add') ttl.writeUInt32BE(TTL_SECONDS);
  return Buffer.concat([
    ...[header, toName(zone), toUint16(TYPE_SOA), toUint16(CLASS_IN)],
    ...[toName(name), toUint16(TYPE_TXT), toUint16(action === 'add' ? CLASS_IN : CLASS_NONE), ttl],
    ...[toUint16(data.length), data],
  ]);
}

/** The result of an answer: 0 when it was done. */
export const readResult = (message: Buffer): number => message.readUInt16BE(2) & 0x0f;

interface DnsRecord {
  /** Where it begins in the message. */
  start: number;
  type: number;
  data: Buffer;
}

/** The records of a message in their order, without its questions. Throws `RangeError` for a message that is cut off. */
export function readRecords(message: Buffer): DnsRecord[] {
  const [questions = 0, ...counts] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at));
  let at = HEADER_BYTES;
  for (let index = 0; index < questions; index += 1) at = skipName(message, at) + 4;
  const records: DnsRecord[] = [];
  for (let left = counts.reduce((sum, count) => sum + count, 0); left > 0; left -= 1) {
    const start = at;
    const fields = skipName(message, at);
    const data = fields + 10;
    at = data + message.readUInt16BE(fields + 8);
    if (at > message.length) throw new RangeError('the message ends within a record');
    records.push({ start, type: message.readUInt16BE(fields), data: message.subarray(data, at) });
  }
  return records;
}

/** Where the name at that place ends. */
function skipName(message: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const length = message.readUInt8(at);
    if (length === 0) return at + 1;
    // The rest of the name is elsewhere.
    if (length >= 0xc0) return at + 2;
    at += 1 + length;
  }
}
