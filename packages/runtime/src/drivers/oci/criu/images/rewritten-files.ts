import { createYielder } from '../../../../concurrency/yielder.ts';
import { listEntries, readFields, type Span } from './files-image.ts';

/**
 * Takes the sizes and modes of the open files that a copy writes anew, see `nameCopy` and `writeResolvers`, out of the bytes
 * of `files.img`: CRIU opens no file that has others than the images say. Resolves with whether there were any; rejects with
 * `internal` when the bytes cannot be understood.
 */
export const allowRewriting = async (bytes: Buffer): Promise<boolean> => {
  const yielder = createYielder();
  let hasChanged = false;
  for (const entry of listEntries(bytes)) {
    const file = readFields(bytes, entry).find(({ number }) => number === PLAIN_FILE);
    hasChanged = (file !== undefined && freeFile(bytes, file)) || hasChanged;
    await yielder();
  }
  return hasChanged;
};

const freeFile = (bytes: Buffer, file: Span): boolean => {
  const fields = readFields(bytes, file);
  const name = fields.find(({ number }) => number === FILE_NAME);
  if (name === undefined || !rewritten.has(bytes.toString('utf8', name.start, name.end))) return false;
  for (const { number, tagAt } of fields)
    if (number === FILE_SIZE || number === FILE_MODE) bytes[tagAt] = UNKNOWN_NUMBER;
  return true;
};

const rewritten: ReadonlySet<string> = new Set(['/etc/hostname', '/etc/hosts', '/etc/resolv.conf']);

// criu: images/fdinfo.proto, images/regfile.proto
const PLAIN_FILE = 3;
const [FILE_NAME, FILE_SIZE, FILE_MODE] = [6, 8, 10];
/** The tag of field 15, of a number: a field that nobody knows is passed over. */
const UNKNOWN_NUMBER = 0x78;
