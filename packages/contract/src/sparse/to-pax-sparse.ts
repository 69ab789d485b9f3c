const BLOCK_BYTES = 512;
const SPARSE_TYPE = 0x53;
/** The offset and the length of one piece. */
const PAIR_BYTES = 24;
const PAIRS_IN_HEADER = { start: 386, count: 4, more: 482, realSize: 483 };
const PAIRS_IN_BLOCK = { count: 21, more: 504 };
const CHECKSUM = { start: 148, end: 156 };
const MAX_PAIRS = 100_000;

interface OldSparse {
  header: Buffer;
  numbers: number[];
}

/**
 * Rewrites the sparse files of a tar archive that are in the old form of GNU tar, which `tar --sparse` writes without more, as those of pax
 * archives (form 0.1). What else is in the archive passes as it is.
 */
export async function* toPaxSparse(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held = Buffer.alloc(0);
  /** The content of the entry that is still to pass. */
  let contentBytes = 0;
  let sparse: OldSparse | undefined;
  for await (const chunk of source) {
    let bytes = chunk;
    while (bytes.length > 0) {
      if (contentBytes > 0) {
        const passed = bytes.subarray(0, contentBytes);
        contentBytes -= passed.length;
        bytes = bytes.subarray(passed.length);
        yield passed;
        continue;
      }
      const missing = BLOCK_BYTES - held.length;
      held = Buffer.concat([held, bytes.subarray(0, missing)]);
      bytes = bytes.subarray(missing);
      if (held.length < BLOCK_BYTES) break;
      const block = held;
      held = Buffer.alloc(0);
      if (sparse !== undefined) readPairs(block, { start: 0, count: PAIRS_IN_BLOCK.count }, sparse.numbers);
      else if (block[156] === SPARSE_TYPE) {
        sparse = { header: block, numbers: [] };
        readPairs(block, PAIRS_IN_HEADER, sparse.numbers);
      } else {
        yield block;
        contentBytes = toContentBytes(block);
        continue;
      }
      const more = block === sparse.header ? PAIRS_IN_HEADER.more : PAIRS_IN_BLOCK.more;
      if (block[more] === 1 && sparse.numbers.length <= 2 * MAX_PAIRS) continue;
      yield toPaxEntry(sparse);
      contentBytes = toContentBytes(sparse.header);
      sparse = undefined;
    }
  }
  // An archive that is cut off.
  if (held.length > 0) yield held;
}

/** In whole blocks. */
const toContentBytes = (header: Buffer): number => {
  const sizeBytes = readNumber(header, 124, 12);
  return Number.isSafeInteger(sizeBytes) ? Math.ceil(sizeBytes / BLOCK_BYTES) * BLOCK_BYTES : 0;
};

/** Octal, or binary with the highest bit set. */
const readNumber = (block: Buffer, start: number, length: number): number => {
  const field = block.subarray(start, start + length);
  if ((field[0] ?? 0) & 0x80) return Number(`0x${field.toString('hex', 1)}`);
  return Number.parseInt(field.toString('latin1').replace(/\0.*$/s, '').trim() || '0', 8);
};

const readPairs = (
  block: Buffer,
  { start, count }: { start: number; count: number },
  numbers: number[],
): void => {
  for (let index = 0; index < count; index += 1) {
    const at = start + index * PAIR_BYTES;
    // The rest is unused.
    if (block[at] === 0) return;
    numbers.push(readNumber(block, at, 12), readNumber(block, at + 12, 12));
  }
};

/** A pax header with the list of the pieces, and the header of the file without it. */
const toPaxEntry = ({ header, numbers }: OldSparse): Buffer => {
  const realSize = readNumber(header, PAIRS_IN_HEADER.realSize, 12);
  const records = Buffer.from(
    toRecord('GNU.sparse.size', String(realSize)) + toRecord('GNU.sparse.map', numbers.join(',')),
  );
  const before = Buffer.alloc(BLOCK_BYTES);
  before.write('PaxHeaders/sparse');
  before.write(`${records.length.toString(8).padStart(11, '0')}\0`, 124);
  before.write('x', 156);
  before.write('ustar\x0000', 257, 'latin1');
  const own = Buffer.from(header);
  own.write('0', 156);
  own.fill(0, 345);
  const padding = Buffer.alloc((BLOCK_BYTES - (records.length % BLOCK_BYTES)) % BLOCK_BYTES);
  return Buffer.concat([withChecksum(before), records, padding, withChecksum(own)]);
};

/** The length of a record counts its own digits. */
const toRecord = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`;
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length += 1;
  return `${length}${rest}`;
};

const withChecksum = (block: Buffer): Buffer => {
  block.fill(' ', CHECKSUM.start, CHECKSUM.end);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, CHECKSUM.start);
  return block;
};
