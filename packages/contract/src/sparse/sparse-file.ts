/** What an archive says of the holes of a file cannot be used. The message begins with the name of the file. */
export class SparseFormError extends Error {}

/** A piece of a file that is no hole, in bytes. */
interface Extent {
  offset: number;
  length: number;
}

/** A file of which the archive has only the pieces that are no holes. */
export interface SparseFile {
  sizeBytes: number;
  /** The pieces in their order; undefined: the content begins with their list. */
  extents: readonly Extent[] | undefined;
}

const PREFIX = 'GNU.sparse.';
const BLOCK_BYTES = 512;
const MAX_EXTENTS = 100_000;
/** The most digits of a number. */
const MAX_DIGITS = 16;

/**
 * What the pax header of an entry says of holes, in the forms 1.0 and 0.1 of GNU tar; undefined for a file that is stored whole. Throws
 * `SparseFormError` for another form.
 */
export function parseSparse(pax: Readonly<Record<string, string>>, name: string): SparseFile | undefined {
  if (!Object.keys(pax).some((key) => key.startsWith(PREFIX))) return undefined;
  if (pax[`${PREFIX}major`] === '1' && pax[`${PREFIX}minor`] === '0')
    return { sizeBytes: parseNumber(pax[`${PREFIX}realsize`] ?? '', name), extents: undefined };
  const map = pax[`${PREFIX}map`];
  if (map === undefined)
    throw new SparseFormError(
      `${name} is stored sparse in a form that is not read; "tar --sparse --format=pax" writes one that is`,
    );
  const sizeBytes = parseNumber(pax[`${PREFIX}size`] ?? '', name);
  const numbers = map.split(',').map((text) => parseNumber(text, name));
  return { sizeBytes, extents: toExtents(numbers, { sizeBytes, name }) };
}

/** The real name of a sparse file, whose entry has another. */
export const sparseName = (pax: Readonly<Record<string, string>>): string | undefined => pax[`${PREFIX}name`];

/** The pieces of a sparse file with their positions in it, as its content arrives. Throws `SparseFormError` when it does not fit to their list. */
export async function* readSparse(
  { sizeBytes, extents }: SparseFile,
  content: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<{ bytes: Uint8Array; position: number }> {
  const takeList = createListReader(name);
  let known = extents;
  let index = 0;
  let doneBytes = 0;
  for await (const chunk of content) {
    let bytes = chunk;
    if (known === undefined) {
      const found = takeList(chunk);
      if (found === undefined) continue;
      known = toExtents(found.numbers, { sizeBytes, name });
      bytes = found.rest;
    }
    while (bytes.length > 0) {
      const extent = known[index];
      if (extent === undefined) throw malformed(name);
      const piece = bytes.subarray(0, extent.length - doneBytes);
      if (piece.length > 0) yield { bytes: piece, position: extent.offset + doneBytes };
      bytes = bytes.subarray(piece.length);
      doneBytes += piece.length;
      if (doneBytes < extent.length) continue;
      index += 1;
      doneBytes = 0;
    }
  }
  if (known === undefined || known.slice(index).some(({ length }) => length > 0)) throw malformed(name);
}

/** Reads the list that the content of form 1.0 begins with: its length, offsets and lengths, each on a line, in whole blocks. */
const createListReader = (name: string) => {
  const numbers: number[] = [];
  let held = Buffer.alloc(0);
  let line = '';
  /** Undefined until the list is complete. */
  return (chunk: Uint8Array): { numbers: number[]; rest: Uint8Array } | undefined => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= BLOCK_BYTES) {
      const lines = `${line}${held.toString('latin1', 0, BLOCK_BYTES)}`.split('\n');
      held = held.subarray(BLOCK_BYTES);
      line = lines.pop() ?? '';
      for (const text of lines) {
        numbers.push(parseNumber(text, name));
        const [count = 0] = numbers;
        if (count > MAX_EXTENTS) throw malformed(name);
        if (numbers.length === 1 + 2 * count) return { numbers: numbers.slice(1), rest: held };
      }
      if (line.length > MAX_DIGITS) throw malformed(name);
    }
    return undefined;
  };
};

/** Each pair of numbers is an extent. */
function toExtents(
  numbers: readonly number[],
  { sizeBytes, name }: { sizeBytes: number; name: string },
): Extent[] {
  if (numbers.length % 2 !== 0 || numbers.length > 2 * MAX_EXTENTS) throw malformed(name);
  const extents: Extent[] = [];
  let end = 0;
  for (let at = 0; at < numbers.length; at += 2) {
    const [offset = 0, length = 0] = numbers.slice(at, at + 2);
    if (offset < end || offset + length > sizeBytes) throw malformed(name);
    end = offset + length;
    extents.push({ offset, length });
  }
  return extents;
}

function parseNumber(text: string, name: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && text.length <= MAX_DIGITS && Number.isSafeInteger(number)) return number;
  throw malformed(name);
}

const malformed = (name: string): SparseFormError =>
  new SparseFormError(`${name} is stored sparse with a list of its pieces that is wrong`);
