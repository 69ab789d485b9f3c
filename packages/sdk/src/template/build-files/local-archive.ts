import { closeSync, openSync, readSync } from 'node:fs';
import { constants, gunzipSync } from 'node:zlib';
import { toSandboxError } from '../../errors.ts';

const HEAD_BYTES = 64 * 1024;
const BLOCK_BYTES = 512;
/** Where the header of tar has its checksum, in octal. */
const CHECKSUM = { start: 148, end: 156 };

/** Compressions that Docker reads and a build does not, by how they begin. */
const others: readonly (readonly [name: string, bytes: string])[] = [
  ['bzip2', '425a68'],
  ['xz', 'fd377a585a00'],
  ['zstd', '28b52ffd'],
];

/**
 * Whether a file is a tar archive, plain or gzip, whatever its name. Throws `invalid_argument` for one that is compressed in
 * another way: what is in it is not known.
 */
export function isArchive(path: string): boolean {
  const head = readHead(path);
  const hex = head.toString('hex', 0, 6);
  const other = others.find(([, bytes]) => hex.startsWith(bytes));
  if (other)
    throw toSandboxError(
      'invalid_argument',
      `ADD of a file that is compressed with ${other[0]} is not supported: use COPY and RUN tar`,
    );
  return isHeader(hex.startsWith('1f8b') ? decompress(head) : head);
}

function readHead(path: string): Buffer {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(HEAD_BYTES);
    return head.subarray(0, readSync(file, head));
  } finally {
    closeSync(file);
  }
}

function decompress(head: Buffer): Buffer {
  try {
    // The end of the file is not there.
    return gunzipSync(head, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    // The file only begins like a compressed one.
    return Buffer.alloc(0);
  }
}

function isHeader(bytes: Buffer): boolean {
  if (bytes.length < BLOCK_BYTES) return false;
  const { start, end } = CHECKSUM;
  const expected = Number.parseInt(bytes.toString('latin1', start, end).replace(/\0.*$/s, '').trim(), 8);
  let sum = 0;
  // The sum counts its own field as blanks.
  for (let at = 0; at < BLOCK_BYTES; at += 1) sum += at >= start && at < end ? 0x20 : (bytes[at] ?? 0);
  return sum === expected;
}
