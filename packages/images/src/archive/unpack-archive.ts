import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ImageError } from '../image-error.ts';
import { type Compression, toDecoder } from '../oci/decoder.ts';
import { createLayerParser } from '../oci/layer/workarounds/layer-parser.ts';
import type { RequireRoom } from '../room.ts';

/** A file of an archive, under a name of our own on the disk. */
export interface ArchivedFile {
  path: string;
  sizeBytes: number;
}

/** The files of an archive by their names in it. */
export interface ArchiveContent {
  /** Follows the links of the archive. Undefined for what is not in it, and for a circle of links. */
  find(name: string): ArchivedFile | undefined;
}

/** Many more than an image has layers. */
const MAX_ENTRIES = 10_000;
const MAX_BYTES = 16 * 2 ** 30;
const MAX_LINKS = 40;
/** PATH_MAX of linux/limits.h. Names stay in memory. */
const MAX_NAME_LENGTH = 4_096;

/** How a file is compressed, by its first bytes. */
export async function readCompression(path: string): Promise<Compression> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    if (buffer.readUInt16BE() === 0x1f8b) return 'gzip';
    return buffer.readUInt32BE() === 0x28b52ffd ? 'zstd' : 'none';
  } finally {
    await file.close();
  }
}

/**
 * Writes the files of a tar archive, plain, gzip or zstd, into a new folder, each as a file whose name is a number: no name and no
 * link of the archive reaches the file system. Rejects with `corrupt`, `unsafe`, `too_large`, what `requireRoom` throws, or
 * the reason of `signal`; the caller removes the folder.
 */
export async function unpackArchive(options: {
  archive: string;
  folder: string;
  /** Called with the size of each file before it is written. */
  requireRoom: RequireRoom;
  signal?: AbortSignal | undefined;
}): Promise<ArchiveContent> {
  const { archive, folder, requireRoom, signal } = options;
  const files = new Map<string, ArchivedFile>();
  const links = new Map<string, string>();
  await mkdir(folder);
  const parser = createLayerParser();
  const reading = (async () => {
    let entryCount = 0;
    let totalBytes = 0;
    for await (const entry of parser) {
      const { name, type, size, linkname } = entry.header;
      entryCount += 1;
      totalBytes += size;
      if (entryCount > MAX_ENTRIES || totalBytes > MAX_BYTES)
        throw new ImageError('too_large', 'the archive is larger than an image may be');
      const key = toKey(name);
      if (type === 'file' || type === 'contiguous-file') {
        requireRoom(size);
        const path = join(folder, String(entryCount));
        // A streamx stream, which its types do not declare as iterable.
        const content = entry as unknown as AsyncIterable<Uint8Array>;
        await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
        files.set(key, { path, sizeBytes: size });
        links.delete(key);
      } else if (type === 'symlink' || type === 'link') {
        // A hard link names its target from the root of the archive.
        const from = type === 'symlink' ? posix.dirname(key) : '.';
        links.set(key, toKey(posix.join(from, linkname ?? '')));
        files.delete(key);
      }
      entry.resume();
    }
  })();
  const decoder = toDecoder(await readCompression(archive));
  const feeding = pipeline([createReadStream(archive), ...decoder, parser], signal ? { signal } : {});
  const failures = (await Promise.allSettled([reading, feeding]))
    .filter((result) => result.status === 'rejected')
    .map((result): unknown => result.reason);
  signal?.throwIfAborted();
  // The first to fail destroys the others, whose errors only echo it.
  const cause = failures.find((error) => error instanceof ImageError) ?? failures[0];
  if (cause instanceof ImageError) throw cause;
  if (cause !== undefined) throw toImageError(cause);
  return {
    find: (name) => {
      let key: string | undefined = toKey(name);
      for (let followed = 0; key !== undefined && followed <= MAX_LINKS; followed += 1) {
        const file = files.get(key);
        if (file) return file;
        key = links.get(key);
      }
      return undefined;
    },
  };
}

/** Throws `unsafe` for a name that leads out of the archive. */
function toKey(name: string): string {
  if (name.length > MAX_NAME_LENGTH)
    throw new ImageError('corrupt', 'the archive has a name that no file can have');
  const key = posix.normalize(name).replace(/\/$/, '');
  if (!key.startsWith('/') && key !== '..' && !key.startsWith('../')) return key;
  throw new ImageError('unsafe', `the archive has an entry named ${JSON.stringify(name.slice(0, 200))}`);
}

function toImageError(cause: unknown): ImageError {
  const { code = '' } = cause as NodeJS.ErrnoException;
  if (['ENOSPC', 'EDQUOT'].includes(code))
    return new ImageError('no_room', 'the disk of the host is full', { cause });
  return new ImageError('corrupt', 'the archive is incomplete, damaged, or no tar archive', { cause });
}
