import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BlobError, toBlobError } from '../blob-error.ts';
import type { ByteRange } from '../blob-key.ts';
import type { BlobStore } from '../blob-store.ts';
import {
  bodyEnds,
  codeHeader,
  formatLine,
  rangeHeader,
  sizeHeader,
  timeHeader,
  toCount,
} from './blob-wire.ts';

/**
 * Answers one request of `createRemoteStore` from a store. Never rejects: a failure is the answer, or ends the stream. The call of the
 * store is aborted when the other side leaves.
 */
export const handleBlobs = async (
  store: BlobStore,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<void> => {
  const leaving = new AbortController();
  const { signal } = leaving;
  // The other side may reset the stream at any time: an error without a listener ends this process.
  stream.on('error', () => undefined);
  stream.once('close', () => leaving.abort());
  try {
    await answer(store, stream, { headers, signal });
  } catch (error) {
    const { code, message } = toBlobError(error, { step: 'a request for a blob', toCode: () => undefined });
    if (stream.headersSent || stream.destroyed) stream.destroy();
    else {
      stream.respond({ ':status': 500, [codeHeader]: code });
      stream.end(message);
    }
  }
};

const answer = async (
  store: BlobStore,
  stream: ServerHttp2Stream,
  { headers, signal }: { headers: IncomingHttpHeaders; signal: AbortSignal },
): Promise<void> => {
  const url = new URL(headers[':path'] ?? '/', 'http://blobs');
  const key = decodeURIComponent(url.pathname.slice(1));
  switch (headers[':method']) {
    case 'PUT': {
      const sizeBytes = toCount(headers[sizeHeader]);
      const body = Readable.from(unpack(stream), { objectMode: false });
      const stored = await store.put(key, body, { ...(sizeBytes !== undefined && { sizeBytes }), signal });
      stream.respond({ ':status': 200, [sizeHeader]: String(stored.sizeBytes) });
      stream.end();
      return;
    }
    case 'GET': {
      const prefix = url.searchParams.get('prefix');
      if (prefix !== null) {
        stream.respond({ ':status': 200 });
        await pipeline(Readable.from(list(store, prefix, signal)), stream);
        return;
      }
      const range = parseRangeHeader(headers[rangeHeader]);
      const found = await store.get(key, { ...(range && { range }), signal });
      stream.respond({ ':status': 200, [sizeHeader]: String(found.sizeBytes) });
      await pipeline(found.body, stream);
      return;
    }
    case 'HEAD': {
      const found = await store.head(key, { signal });
      stream.respond({
        ':status': found ? 200 : 404,
        ...(found && {
          [sizeHeader]: String(found.sizeBytes),
          [timeHeader]: String(Number(found.modifiedAt)),
        }),
      });
      stream.end();
      return;
    }
    case 'DELETE':
      await store.delete(key, { signal });
      stream.respond({ ':status': 200 });
      stream.end();
      return;
    default:
      throw new BlobError('unsupported', 'a store of blobs has no such method');
  }
};

/** The body of a PUT without its last byte. Fails when that says that it failed, or is missing. */
async function* unpack(stream: ServerHttp2Stream): AsyncGenerator<Buffer> {
  let last: number | undefined;
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    if (chunk.length === 0) continue;
    if (last !== undefined) yield Buffer.of(last);
    last = chunk[chunk.length - 1];
    yield chunk.subarray(0, -1);
  }
  if (last !== bodyEnds.complete)
    throw new BlobError('incomplete', 'the other side could not send the whole body');
}

async function* list(store: BlobStore, prefix: string, signal: AbortSignal): AsyncGenerator<string> {
  try {
    for await (const { key, sizeBytes, modifiedAt } of store.list(prefix, { signal }))
      yield formatLine({ key, sizeBytes, modifiedAt: Number(modifiedAt) });
  } catch (error) {
    const { code, message } = toBlobError(error, { step: `listing ${prefix}`, toCode: () => undefined });
    yield formatLine({ code, message });
  }
}

const parseRangeHeader = (value: unknown): ByteRange | undefined => {
  if (typeof value !== 'string') return undefined;
  const [offset, length] = value.split('-').map(Number);
  return { offset: offset ?? Number.NaN, ...(length !== undefined && { length }) };
};
