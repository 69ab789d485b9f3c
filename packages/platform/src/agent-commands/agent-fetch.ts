import { request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline, Readable, Transform } from 'node:stream';
import { agentPort } from '@skerry/contract/directory';
import type { Instance } from '@skerry/runtime';

/** Answers whose body the constructor of `Response` refuses. */
const BODILESS = new Set([204, 205, 304]);

/** The longest body of an answer, and the longest message of a stream. */
export const MAX_ANSWER_BYTES = 4 * 2 ** 20;
/**
 * The content type of streamed answers begins with this. Their reader limits the size of each message itself.
 */
const STREAM_TYPE = 'application/connect+';

/**
 * A `fetch` that sends each request to the agent of an instance over a connection of its own, whatever the host of the
 * URL. Rejects with the reason of the signal, or what the connection fails with. Code inside may impersonate the agent: an
 * answer that is none fails the request, and so does the reading of a body of more than `MAX_ANSWER_BYTES`, unless it is a stream.
 */
export const createAgentFetch =
  (instance: Pick<Instance, 'connect'>): typeof globalThis.fetch =>
  async (input, init) => {
    const request = new Request(input, init);
    const { method, headers, signal } = request;
    // The signal of a `Request` no longer follows the caller's once the request is collected: undici refers to it weakly.
    const requests = [input, request];
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
        requests.length = 0;
        socket.destroy();
      });
      call.on('error', reject);
      const maxBytes = headers.get('content-type')?.startsWith(STREAM_TYPE) ? Infinity : MAX_ANSWER_BYTES;
      call.on('response', (response) => {
        try {
          resolve(toResponse(response, maxBytes));
        } catch (error) {
          call.destroy();
          reject(error);
        }
      });
      call.end(body);
    });
  };

/** Throws for a status or a header that HTTP does not have. */
const toResponse = (response: IncomingMessage, maxBytes: number): Response => {
  const { statusCode: status = 502, headers } = response;
  const fields = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  const made = new Response(null, { status, headers: fields });
  if (BODILESS.has(status)) {
    response.resume();
    return made;
  }
  const body = Readable.toWeb(pipeline(response, createBound(maxBytes), () => undefined));
  return new Response(body as ReadableStream<Uint8Array>, made);
};

/** Passes bytes on, and fails once there are more than `maxBytes`. */
const createBound = (maxBytes: number): Transform => {
  let passedBytes = 0;
  return new Transform({
    transform(bytes: Buffer, _encoding, done) {
      passedBytes += bytes.length;
      if (passedBytes > maxBytes) done(new Error(`the answer of the agent has more than ${maxBytes} bytes`));
      else done(null, bytes);
    },
  });
};
