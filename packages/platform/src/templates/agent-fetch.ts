import { request as httpRequest, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { agentPort } from '@skerry/contract/directory';
import type { Instance } from '@skerry/runtime';

/** Answers whose body the constructor of `Response` refuses. */
const BODILESS = new Set([204, 205, 304]);

/**
 * A `fetch` that sends each request to the agent of an instance over a connection of its own, whatever the host of the
 * URL. Rejects with the reason of the signal, or what the connection fails with.
 */
export const createAgentFetch =
  (instance: Pick<Instance, 'connect'>): typeof globalThis.fetch =>
  async (input, init) => {
    const request = new Request(input, init);
    const { method, headers, signal } = request;
    const body = Buffer.from(await request.arrayBuffer());
    const { pathname, search } = new URL(request.url);
    const socket = await instance.connect(agentPort, { signal });
    return new Promise((resolve, reject) => {
      const call = httpRequest({
        method,
        path: `${pathname}${search}`,
        headers: { ...Object.fromEntries(headers), host: 'localhost', 'content-length': String(body.length) },
        createConnection: () => socket,
      });
      const abort = (): void => void call.destroy(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      call.on('close', () => {
        signal.removeEventListener('abort', abort);
        socket.destroy();
      });
      call.on('error', reject);
      call.on('response', (response) => resolve(toResponse(response)));
      call.end(body);
    });
  };

const toResponse = (response: IncomingMessage): Response => {
  const { statusCode: status = 502, headers } = response;
  const fields = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const body = BODILESS.has(status) ? null : (Readable.toWeb(response) as ReadableStream<Uint8Array>);
  if (body === null) response.resume();
  return new Response(body, { status, headers: fields });
};
