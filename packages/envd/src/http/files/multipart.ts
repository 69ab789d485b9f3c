import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy } from '@fastify/busboy';
import { invalid } from '@skerry/contract/error';

/** One part named `file`. */
export interface FilePart {
  /** The name with its directories, as the client gave it. Undefined for a plain text value. */
  filename: string | undefined;
  body: AsyncIterable<Uint8Array>;
}

/** Parts of other names are skipped; this much of each is looked at. */
const MAX_SKIPPED_BYTES = 1024;

const create = (type: string, headers: IncomingHttpHeaders): InstanceType<typeof Busboy> => {
  try {
    return new Busboy({
      // The parser knows this one subtype; all of them are framed alike.
      headers: { ...headers, 'content-type': type.replace(/^multipart\/[^;]*/i, 'multipart/form-data') },
      preservePath: true,
      isPartAFile: (name) => name === 'file',
      limits: { fieldSize: MAX_SKIPPED_BYTES },
      fileHwm: 1024 * 1024,
    });
  } catch (error) {
    throw invalid('Content-Type is not a valid multipart type', { cause: error });
  }
};

/**
 * Reads a multipart body and hands each part named `file` to `onPart`, one after the other in their order. Rejects with what
 * `onPart` rejects with, and with `invalid_argument` when the body is malformed; by then no part is being worked on any more, and the one
 * that was has failed.
 */
export const readMultipart = async (
  body: AsyncIterable<Uint8Array>,
  headers: IncomingHttpHeaders,
  onPart: (part: FilePart) => Promise<void>,
): Promise<void> => {
  const parser = create(headers['content-type'] ?? '', headers);
  let work: Promise<void> = Promise.resolve();
  const streams = new Set<Readable>();
  const done = new Promise<void>((resolve, reject) => {
    parser.on('file', (_name, stream, filename) => {
      streams.add(stream);
      // The reader of the part gets the error, perhaps later.
      stream.on('error', () => undefined);
      stream.once('close', () => streams.delete(stream));
      work = work.then(() => onPart({ filename: filename === '' ? undefined : filename, body: stream }));
      work.catch(reject);
    });
    parser.once('error', (error) => reject(invalid('multipart body is malformed', { cause: error })));
    parser.once('finish', () => {
      work.then(resolve, reject);
    });
  });
  const feed = async (): Promise<void> => {
    for await (const chunk of body) {
      // A destroyed part emits no 'drain', and waiting for it would hold up the body.
      if (parser.destroyed) return;
      if (!parser.write(chunk))
        await new Promise((resolve) => parser.once('drain', resolve).once('close', resolve));
    }
    parser.end();
  };
  try {
    await Promise.race([done, feed().then(() => done)]);
  } catch (error) {
    for (const stream of streams) stream.destroy(error as Error);
    // The caller gets the first error; this only waits until the files are closed.
    await work.catch(() => undefined);
    throw error;
  } finally {
    parser.destroy();
  }
};
