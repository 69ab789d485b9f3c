import { readFile } from 'node:fs/promises';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { type Field, listEntries, putVarint, readFields, type Span, UNKNOWN_BYTES } from './files-image.ts';

/**
 * Shortens, in the bytes of the folder's `files.img`, the names of files that are open and were deleted where these are as long
 * as a name may be: CRIU makes such a file anew under its name with something appended, and takes that away again. Nothing but
 * links in `/proc` show it. Resolves with whether there were any; rejects with `internal` when images cannot be understood.
 */
export const shortenDeletedNames = async (bytes: Buffer, folder: string): Promise<boolean> => {
  const deleted = await readDeleted(folder);
  if (deleted.size === 0) return false;
  const yielder = createYielder();
  let hasChanged = false;
  for (const entry of listEntries(bytes)) {
    const file = readFields(bytes, entry).find(({ number }) => number === PLAIN_FILE);
    hasChanged = (file !== undefined && shortenName(bytes, file, deleted)) || hasChanged;
    await yielder();
  }
  return hasChanged;
};

const shortenName = (bytes: Buffer, file: Span, deleted: ReadonlySet<number>): boolean => {
  const fields = readFields(bytes, file);
  const name = fields.find(({ number }) => number === FILE_NAME);
  if (name === undefined || !deleted.has(toNumber(fields, FILE_ID))) return false;
  const path = bytes.subarray(name.start, name.end);
  const nameBytes = path.length - 1 - path.lastIndexOf('/');
  if (nameBytes <= LONGEST_BYTES) return false;
  // At least as many as a field that takes their place needs.
  const end = name.end - (nameBytes - LONGEST_BYTES) - 1;
  bytes.set([UNKNOWN_BYTES, name.end - end - 2], end);
  putVarint(bytes, { start: name.tagAt + 1, end: name.start }, end - name.start);
  return true;
};

/** The ids of the plain files whose contents are in images of their own. */
const readDeleted = async (folder: string): Promise<ReadonlySet<number>> => {
  const bytes = await readFile(`${folder}/remap-fpath.img`).catch((error: NodeJS.ErrnoException) => {
    // There is none where there are no such files.
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
  const yielder = createYielder();
  const deleted = new Set<number>();
  for (const entry of listEntries(bytes)) {
    const fields = readFields(bytes, entry);
    if (toNumber(fields, REMAP_TYPE) === GHOST) deleted.add(toNumber(fields, REMAP_FILE_ID));
    await yielder();
  }
  return deleted;
};

const toNumber = (fields: readonly Field[], wanted: number): number =>
  fields.find(({ number }) => number === wanted)?.value ?? 0;

// criu: images/fdinfo.proto, images/regfile.proto, images/remap-file-path.proto
const PLAIN_FILE = 3;
const [FILE_ID, FILE_NAME] = [1, 6];
const [REMAP_FILE_ID, REMAP_TYPE, GHOST] = [1, 3, 1];
/** NAME_MAX of linux/limits.h without what criu/files-reg.c appends at most: `.cr.`, 32 bits in hex, `.ghost`. */
const LONGEST_BYTES = 255 - 18;
