import { rmSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createHttpServer, listenAtPath } from '../http/listen.ts';

const { request } = process.getBuiltinModule('node:http');

const HEAD_BYTES = 5;
const TIMEOUT_MS = 5_000;

/** A program of the agent's own, which needs nothing of the file system around it. */
const START = { process: { cmd: '/.envd/tini', args: ['--version'] }, stdin: false };

/**
 * Starts a program the way a caller would, at a listener that no other client reaches: the first call of a process takes several
 * times as long as the second, and an agent that waits for an owner has time for it. Resolves when the program has ended or was
 * not found, and rejects when the call fails; `path` is that of a socket which is gone then.
 */
export const rehearse = async (listener: RequestListener, path: string): Promise<void> => {
  const server = createHttpServer(listener);
  try {
    await listenAtPath(server, path);
    await call(path);
  } finally {
    server.close();
    rmSync(path, { force: true });
  }
};

const call = (socketPath: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const message = Buffer.from(JSON.stringify(START));
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(message.length, 1);
    const sent = request(
      {
        socketPath,
        method: 'POST',
        path: '/process.Process/Start',
        headers: {
          'content-type': 'application/connect+json',
          'connect-protocol-version': '1',
          connection: 'close',
        },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      },
      (response) => void response.resume().on('end', resolve).on('error', reject),
    );
    sent.on('error', reject).end(Buffer.concat([head, message]));
  });
