import { type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { RuntimeError } from '../../../../error.ts';

/**
 * A file of CRIU (https://criu.org/Images): 4 bytes that all images begin with, 4 of the kind, then messages, each after its
 * size in 4 bytes. Numbers are little-endian. In images of other kinds raw bytes may follow a message; those are not read here.
 */
export interface Image<Message> {
  magic: Buffer;
  messages: Message[];
}

const MAGIC_BYTES = 8;
export const INVENTORY_MAGIC_BYTES = 4;
const SIZE_BYTES = 4;

/**
 * Reads all messages of an image. There may be as many as code inside could open files: other work has its turn meanwhile.
 * `inventory.img` has the first 4 bytes alone. Rejects with `internal` when the bytes are no such messages.
 */
export const parseImage = async <Desc extends DescMessage>(
  schema: Desc,
  bytes: Buffer,
  magicBytes: typeof MAGIC_BYTES | typeof INVENTORY_MAGIC_BYTES = MAGIC_BYTES,
): Promise<Image<MessageShape<Desc>>> => {
  const yielder = createYielder();
  const messages: MessageShape<Desc>[] = [];
  try {
    for (let at: number = magicBytes; at < bytes.length; ) {
      const start = at + SIZE_BYTES;
      at = start + bytes.readUInt32LE(at);
      if (at > bytes.length) throw new RangeError('the last message is cut off');
      messages.push(fromBinary(schema, bytes.subarray(start, at)));
      await yielder();
    }
  } catch (error) {
    throw new RuntimeError('internal', `a memory image holds no list of ${schema.name}`, { cause: error });
  }
  return { magic: bytes.subarray(0, magicBytes), messages };
};

/**
 * Parses an image with one message, which raw bytes follow, otherwise as `parseImage` does. `bytes` may be
 * only its beginning. Throws `internal` when that has no such message.
 */
export const parseFirst = <Desc extends DescMessage>(
  schema: Desc,
  bytes: Buffer,
): { magic: Buffer; message: MessageShape<Desc>; rest: Buffer } => {
  try {
    const start = MAGIC_BYTES + SIZE_BYTES;
    const end = start + bytes.readUInt32LE(MAGIC_BYTES);
    if (end > bytes.length) throw new RangeError('the message is cut off');
    const message = fromBinary(schema, bytes.subarray(start, end));
    return { magic: bytes.subarray(0, MAGIC_BYTES), message, rest: bytes.subarray(end) };
  } catch (error) {
    throw new RuntimeError('internal', `a memory image does not begin with ${schema.name}`, { cause: error });
  }
};

/** The bytes of an image. Fields that the schema does not know are written as they were read, after those it knows. */
export const toImageBytes = async <Desc extends DescMessage>(
  schema: Desc,
  { magic, messages }: Image<MessageShape<Desc>>,
): Promise<Buffer> => {
  const yielder = createYielder();
  const parts: Uint8Array[] = [magic];
  for (const message of messages) {
    const bytes = toBinary(schema, message);
    const size = Buffer.alloc(SIZE_BYTES);
    size.writeUInt32LE(bytes.length);
    parts.push(size, bytes);
    await yielder();
  }
  return Buffer.concat(parts);
};
