import { createServer } from 'node:http2';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { BlobStore } from '@skerry/blobs';
import { handleBlobs } from '@skerry/blobs/remote';
import { RuntimeError, type RuntimeErrorCode } from '../error.ts';
import { toBlobsOfSnapshot } from './blobs-of-snapshot.ts';
import type { SnapshotRequest } from './snapshot-request.ts';
import type { StoredSnapshot } from './stored-snapshots.ts';

/** A host that neither reads nor writes a blob for so long is given up: it reads what it stores before. */
const SILENCE_MS = 5 * 60_000;

/** What the host sends when it is done: the result of a store, nothing for a fetch, or the failure. */
export type SnapshotResult = Partial<StoredSnapshot> | { code: RuntimeErrorCode; message: string };

/** Where the host sends it. */
export const resultPath = '/result';

/**
 * The server's end of a connection on which a host has accepted a request: serves the store, and resolves with what the host reports
 * at the end. The host reaches the blobs of that snapshot alone. Rejects with the `RuntimeError` of the host, and with `unavailable`
 * when the connection ends or the signal aborts. The connection is closed then.
 */
export const runRequest = async (
  socket: Socket,
  { way, snapshot }: Pick<SnapshotRequest, 'way' | 'snapshot'>,
  { blobs, signal }: { blobs: BlobStore; signal?: AbortSignal | undefined },
): Promise<Partial<StoredSnapshot>> => {
  const own = toBlobsOfSnapshot(blobs, snapshot, { isWritable: way === 'store' });
  const { promise, resolve, reject } = Promise.withResolvers<Partial<StoredSnapshot>>();
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
    stream.on('error', fail);
    text(stream).then((sent) => {
      stream.respond({ ':status': 200 }, { endStream: true });
      settle(sent);
    }, fail);
  });
  const settle = (sent: string): void => {
    const result = JSON.parse(sent) as SnapshotResult;
    if ('code' in result) reject(new RuntimeError(result.code, result.message));
    else resolve(result);
  };
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
