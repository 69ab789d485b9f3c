import { buffer } from 'node:stream/consumers';
import { type Header, pack } from 'tar-stream';

/** An entry of a test's archive: a file with that content unless its header says otherwise. */
export type TestEntry = Partial<Header> & { name: string; content?: string };

/** A plain tar archive of those entries, however hostile they are. */
export const makeArchive = async (entries: readonly TestEntry[]): Promise<Buffer> => {
  const archive = pack();
  for (const { content = '', ...header } of entries) archive.entry(header, content);
  archive.finalize();
  return buffer(archive as unknown as AsyncIterable<Buffer>);
};
