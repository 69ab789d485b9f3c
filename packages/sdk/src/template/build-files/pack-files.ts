import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { pipeline, type Readable } from 'node:stream';
import { createGzip } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';
import { toSandboxError } from '../../errors.ts';
import type { BuildFile } from './build-file.ts';

/**
 * The files as a tar archive, compressed, that is made while it is read. It ends with `invalid_argument` when a file no longer
 * has the hash in `contents`. Destroy it if you do not read it to its end.
 */
export function packFiles(files: readonly BuildFile[], contents: ReadonlyMap<string, string>): Readable {
  const archive = pack();
  const compressed = createGzip();
  // An error ends both; the reader gets it from the compressed one.
  pipeline(archive as unknown as Readable, compressed, () => undefined);
  addAll(archive, files, contents).catch((error: Error) => archive.destroy(error));
  return compressed;
}

async function addAll(
  archive: Pack,
  files: readonly BuildFile[],
  contents: ReadonlyMap<string, string>,
): Promise<void> {
  const closed = new AbortController();
  archive.once('close', () => closed.abort());
  for (const file of files) {
    const { name, mode, mtime, type } = file;
    const header = { mode, mtime, uid: 0, gid: 0 };
    if (file.type === 'file')
      await addFile(archive, file, { expected: contents.get(name), closed: closed.signal });
    else if (file.type === 'directory') archive.entry({ ...header, name: `${name}/`, type });
    else archive.entry({ ...header, name, type: file.type, linkname: file.target });
  }
  archive.finalize();
}

async function addFile(
  archive: Pack,
  { name, path, mode, mtime, sizeBytes }: BuildFile & { type: 'file' },
  { expected, closed }: { expected: string | undefined; closed: AbortSignal },
): Promise<void> {
  const sink = archive.entry({ name, mode, mtime, uid: 0, gid: 0, type: 'file', size: sizeBytes });
  // The entry fails with the archive, which has the reason.
  sink.on('error', () => undefined);
  const hash = createHash('sha256');
  const changed = (): Error =>
    toSandboxError('invalid_argument', `"${name}" changed while the build was read`);
  let count = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    hash.update(chunk);
    count += chunk.length;
    if (count > sizeBytes) throw changed();
    // Nothing drains an archive that the reader has destroyed.
    if (!sink.write(chunk)) await once(sink, 'drain', { signal: closed });
  }
  if (count !== sizeBytes || hash.digest('hex') !== expected) throw changed();
  sink.end(undefined);
}
