import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { type Header, pack } from 'tar-stream';

/** A plain tar archive of those entries, files unless the header says otherwise. */
export const makeArchive = async (
  entries: readonly (Partial<Header> & { name: string; content?: string })[],
): Promise<Buffer<ArrayBuffer>> => {
  const archive = pack();
  for (const { content = '', ...header } of entries) archive.entry(header, content);
  archive.finalize();
  return Buffer.from(await buffer(archive as unknown as AsyncIterable<Buffer>));
};

/** Some hash in the form that clients send. */
export const toFilesHash = (text: string): string => createHash('sha256').update(text).digest('hex');
