import { createYielder } from '../../../../concurrency/yielder.ts';
import { RuntimeError } from '../../../../error.ts';

/** Where something is in the bytes of an image. */
export interface Span {
  start: number;
  end: number;
}

/** A field of a protobuf message, and where its value is. */
export interface Field extends Span {
  /** Where its tag begins. */
  tagAt: number;
  number: number;
  /** Of a field that holds bytes: how many. */
  value: number;
}

/** https://protobuf.dev/programming-guides/encoding: of the wire types, these messages have 0, 1, 2 and 5. */
export const readFields = (bytes: Buffer, { start, end }: Span): Field[] => {
  const fields: Field[] = [];
  for (let at = start; at < end; ) {
    const tag = readVarint(bytes, at);
    const [number, type] = [Math.floor(tag.value / 8), tag.value % 8];
    if (type === 0) {
      const { value, end: next } = readVarint(bytes, tag.end);
      fields.push({ number, value, tagAt: at, start: tag.end, end: next });
      at = next;
    } else if (type === 2) {
      const { value, end: from } = readVarint(bytes, tag.end);
      fields.push({ number, value, tagAt: at, start: from, end: from + value });
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

/** In as many bytes as the value before, which was not smaller: leading zeros are allowed. */
export const putVarint = (bytes: Buffer, { start, end }: Span, value: number): void => {
  for (let at = start, rest = value; at < end; at++, rest = Math.floor(rest / 128))
    bytes[at] = (rest % 128) | (at < end - 1 ? 128 : 0);
};

/** The tag of field 15, of as many bytes as follow: a field that nobody knows is passed over. */
export const UNKNOWN_BYTES = 0x7a;

export const unreadable = (): RuntimeError =>
  new RuntimeError('internal', 'the memory images hold no list of files');

// criu: include/magic.h, images/fdinfo.proto
const MAGIC_BYTES = 8;

/** Where each message of an image is. */
export function* listEntries(bytes: Buffer): Generator<Span> {
  for (let at = MAGIC_BYTES; at < bytes.length; ) {
    const start = at + 4;
    at = start + bytes.readUInt32LE(at);
    yield { start, end: at };
  }
}

/**
 * What `files.img` says of the files of some kinds, by the numbers of their fields in `file_entry`. There may be as many
 * files as code inside could open: others have their turn meanwhile. Rejects with `internal` when it cannot be understood.
 */
export const readFiles = async (bytes: Buffer, kinds: readonly number[]): Promise<Map<number, Field[][]>> => {
  const yielder = createYielder();
  const found = new Map<number, Field[][]>(kinds.map((kind) => [kind, []]));
  for (const entry of listEntries(bytes)) {
    for (const field of readFields(bytes, entry)) found.get(field.number)?.push(readFields(bytes, field));
    await yielder();
  }
  return found;
};
