import { request } from 'node:http';
import type { Instance } from '@skerry/runtime';

/**
 * Posts JSON to the agent of a sandbox over its private channel. Resolves when the agent has taken it; rejects when the channel
 * fails, the agent refuses, or the signal aborts.
 */
export const tellAgent = async (
  instance: Pick<Instance, 'control'>,
  { path, body }: { path: string; body: unknown },
  { signal }: { signal: AbortSignal },
): Promise<void> => {
  const channel = await instance.control({ signal });
  try {
    await new Promise<void>((resolve, reject) => {
      const json = JSON.stringify(body);
      const headers = {
        host: 'localhost',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(json),
      };
      const options = { method: 'POST', path, headers, signal, createConnection: () => channel };
      request(options, (response) => {
        if (response.statusCode === 204) resolve();
        const refuse = (answer: string): void =>
          reject(new Error(`the agent answered ${response.statusCode} to ${path}: ${answer.slice(0, 500)}`));
        // Its beginning is enough, and whoever speaks for the agent may never end it.
        response
          .setEncoding('utf8')
          .once('data', refuse)
          .once('end', () => refuse(''))
          .once('error', reject);
      })
        .on('error', reject)
        .end(json);
    });
  } finally {
    channel.destroy();
  }
};
