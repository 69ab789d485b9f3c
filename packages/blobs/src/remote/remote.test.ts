import { mkdtempSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Http2Server } from 'node:http2';
import { createConnection, createServer as createSocketServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import type { BlobStore } from '../blob-store.ts';
import { openBlobStore } from '../open-blob-store.ts';
import { describeBlobStore } from '../suite/suite.ts';
import { createRemoteStore, handleBlobs } from './index.ts';

const base = mkdtempSync(join(tmpdir(), 'skerry-remote-blobs-'));
const closing: (() => void)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) close();
  await rm(base, { recursive: true });
});

/** A store behind a connection, whose ends are both here. */
const serveStore = async (store: BlobStore): Promise<{ remote: BlobStore; cut: () => void }> => {
  const http: Http2Server = createServer();
  http.on('stream', (stream, headers) => void handleBlobs(store, stream, headers));
  http.on('sessionError', () => undefined);
  const sockets: Socket[] = [];
  const server = createSocketServer((socket) => {
    sockets.push(socket);
    http.emit('connection', socket);
  });
  const path = join(base, `socket-${closing.length}`);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const session = connect('http://blobs', { createConnection: () => createConnection(path) });
  session.on('error', () => undefined);
  closing.push(() => {
    session.destroy();
    server.close();
  });
  return { remote: createRemoteStore(session), cut: () => sockets.map((socket) => socket.destroy()) };
};

describeBlobStore('a folder behind a connection', async () => {
  const folder = join(base, 'suite');
  const { remote } = await serveStore(await openBlobStore({ kind: 'folder', folder }));
  return {
    store: remote,
    findUnfinished: async () => (await readdir(folder)).filter((name) => name.startsWith('.')),
  };
});

describe('a store behind a connection', () => {
  it('fails with "unavailable" when the connection is cut, and then has nothing of what was sent', async () => {
    const folder = join(base, 'cut');
    const { remote, cut } = await serveStore(await openBlobStore({ kind: 'folder', folder }));
    await remote.put('kept', Readable.from(['x']));
    expect(await text((await remote.get('kept')).body)).toBe('x');
    const endless = new Readable({
      read() {
        this.push(Buffer.alloc(65_536));
      },
    });
    const stored = remote.put('cut', endless);
    await expect.poll(async () => (await readdir(folder)).length).toBe(2);
    cut();
    await expect(stored).rejects.toMatchObject({ name: 'BlobError', code: 'unavailable' });
    for (const call of [remote.head('kept'), remote.get('kept'), remote.delete('kept')])
      await expect(call).rejects.toMatchObject({ code: 'unavailable' });
    await expect.poll(() => readdir(folder)).toEqual(['kept']);
  });

  it('reports the failures of the store as they are', async () => {
    const folder = join(base, 'failing');
    const { remote } = await serveStore(await openBlobStore({ kind: 'folder', folder }));
    await rm(folder, { recursive: true });
    await expect(remote.put('a', Readable.from(['x']))).rejects.toMatchObject({ code: 'not_found' });
    await expect(remote.list('')[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'not_found' });
  });
});
