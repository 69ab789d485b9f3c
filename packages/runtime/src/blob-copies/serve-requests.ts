import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { createRemoteStore } from '@skerry/blobs/remote';
import { RuntimeError, toRuntimeError } from '../error.ts';
import { formatAnswer, parseObject, readLine, writeLine } from '../line-protocol.ts';
import { openSocketPath } from '../socket-path.ts';
import { resultPath, type SnapshotResult } from './run-request.ts';
import type { SnapshotCopies } from './snapshot-copies.ts';
import { parseSnapshotRequest, type SnapshotRequest } from './snapshot-request.ts';

const OPENING_MS = 10_000;

/**
 * Stores and fetches snapshots of this host, for processes of the same user: a connection to the unix socket begins with a request as
 * a line, and the other side serves the store on it then, see `runRequest`. Replaces a socket that an earlier process left.
 * `close` aborts what is in progress and waits for it.
 */
export async function serveRequests(
  stored: SnapshotCopies | undefined,
  { socketPath, onError }: { socketPath: string; onError: (error: Error) => void },
): Promise<{ close(): Promise<void> }> {
  const closing = new AbortController();
  const inProgress = new Set<Promise<void>>();

  const serve = async (socket: Socket): Promise<void> => {
    try {
      const request = parseSnapshotRequest(parseObject(await readLine(socket, { timeoutMs: OPENING_MS })));
      if (stored === undefined)
        throw new RuntimeError('unsupported', 'the driver of this host cannot store snapshots');
      await writeLine(socket, formatAnswer());
      await work(stored, request, { socket, closing: closing.signal, onError });
    } catch (error) {
      const failure = toRuntimeError(error, 'a request for a snapshot');
      if (failure.code === 'internal') onError(failure);
      if (!socket.destroyed) socket.end(formatAnswer(failure));
    }
  };

  await rm(socketPath, { force: true });
  const short = await openSocketPath(socketPath);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    const served = serve(socket).finally(() => inProgress.delete(served));
    inProgress.add(served);
  });
  const listening = once(server, 'listening');
  // `listen` creates the socket with this mask before it returns, so other users can never connect.
  const mask = process.umask(0o177);
  server.listen(short.path);
  process.umask(mask);
  await listening;
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      closing.abort();
      await Promise.all(inProgress);
      await closed;
      // Only now: closing the server removes the socket by this name.
      await short.close();
    },
  };
}

/** Does what was asked with the store at the other end, and reports the result there. Never rejects. */
const work = async (
  stored: SnapshotCopies,
  request: SnapshotRequest,
  { socket, closing, onError }: { socket: Socket; closing: AbortSignal; onError: (error: Error) => void },
): Promise<void> => {
  const leaving = new AbortController();
  const session = connect('http://blobs', { createConnection: () => socket });
  // Each request of the session fails with it; an error without a listener would end this process.
  session.on('error', () => undefined);
  session.once('close', () => leaving.abort());
  const signal = AbortSignal.any([leaving.signal, closing]);
  const { copy, templateDigest } = request;
  const options = { blobs: createRemoteStore(session), copy, templateDigest, signal };
  let result: SnapshotResult;
  try {
    if (request.way === 'store') result = await stored.write(request.snapshot, options);
    else {
      const { manifestSha256, rootfs } = request;
      await stored.read(request.snapshot, { ...options, manifestSha256, rootfs });
      result = {};
    }
  } catch (error) {
    const failure = toRuntimeError(error, 'a request for a snapshot');
    result = { code: failure.code, message: failure.message };
    if (failure.code === 'internal') onError(failure);
  }
  // The session has ended: the server, which takes that for a failure, asks again.
  await report(session, result).catch(() => undefined);
  session.destroy();
  socket.destroy();
};

const report = async (session: ClientHttp2Session, result: SnapshotResult): Promise<void> => {
  const stream = session.request({ ':method': 'POST', ':path': resultPath });
  stream.on('error', () => undefined);
  stream.end(JSON.stringify(result));
  stream.resume();
  await once(stream, 'close');
};
