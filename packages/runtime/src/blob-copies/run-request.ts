import { createServer } from 'node:http2';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { BlobStore } from '@skerry/blobs';
import { handleBlobs } from '@skerry/blobs/remote';
import { RuntimeError, type RuntimeErrorCode } from '../error.ts';
import { parseObject } from '../line-protocol.ts';
import { toBlobsOfCopy } from './blobs-of-copy.ts';
import type { SnapshotCopy } from './snapshot-copies.ts';
import type { SnapshotRequest } from './snapshot-request.ts';

/** A host that neither reads nor writes a blob for so long is given up: it reads what it stores before. */
const SILENCE_MS = 5 * 60_000;

/** What the host sends when it is done: the result of a store, nothing for a fetch, or the failure. */
export type SnapshotResult = Partial<SnapshotCopy> | { code: RuntimeErrorCode; message: string };

/** Where the host sends it. */
export const resultPath = '/result';

/**
 * The server's end of a connection on which a host has accepted a request: serves the store, and resolves with what the host reports
 * at the end. The host reaches the blobs of that copy alone. Rejects with the `RuntimeError` of the host, and with `unavailable`
 * when the connection ends or the signal aborts. The connection is closed then.
 */
export const runRequest = async (
  socket: Socket,
  { way, copy }: Pick<SnapshotRequest, 'way' | 'copy'>,
  { blobs, signal }: { blobs: BlobStore; signal?: AbortSignal | undefined },
): Promise<Partial<SnapshotCopy>> => {
  const own = toBlobsOfCopy(blobs, copy, { isWritable: way === 'store' });
  const { promise, resolve, reject } = Promise.withResolvers<Partial<SnapshotCopy>>();
  const fail = (): void => reject(new RuntimeError('unavailable', 'the connection to the host has ended'));
  const http = createServer();
  http.on('session', (session) => session.setTimeout(SILENCE_MS, () => session.destroy()));
  // The end of the connection reports it.
  http.on('sessionError', () => undefined);
  http.on('stream', (stream, headers) => {
    if (headers[':path'] !== resultPath || headers[':method'] !== 'POST') {
      void handleBlobs(own, stream, headers);
      return;
    }
    stream.on('error', () => undefined);
    readResult(stream).then((result) => {
      resolve(result);
      if (!stream.destroyed) stream.respond({ ':status': 200 }, { endStream: true });
    }, reject);
  });
  const abort = (): void => void socket.destroy();
  socket.once('close', fail);
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  if (socket.destroyed) fail();
  else http.emit('connection', socket);
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', abort);
    socket.destroy();
  }
};

/** Longer than any result. */
const MAX_RESULT_BYTES = 65_536;

/** The result that a host sends. Rejects with its failure, and with `unsupported` for what is no result. */
const readResult = async (stream: Readable): Promise<Partial<SnapshotCopy>> => {
  let sent = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    sent += chunk;
    if (sent.length > MAX_RESULT_BYTES)
      throw new RuntimeError('unsupported', 'the host sent too long a result');
  }
  const { code, message, manifestSha256, sizeBytes } = parseObject(sent);
  if (code !== undefined) throw new RuntimeError(code as RuntimeErrorCode, String(message));
  if (manifestSha256 === undefined) return {};
  if (!isDigest(manifestSha256) || !Number.isSafeInteger(sizeBytes))
    throw new RuntimeError('unsupported', 'the host sent no result of a store');
  return { manifestSha256, sizeBytes: sizeBytes as number };
};

const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
