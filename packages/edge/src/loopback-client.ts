import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach } from 'vitest';
import { type Loopback, type LoopbackOptions, startLoopback } from './loopback.ts';

/** The sandbox that exists at the start of every test. */
export const id = 'i0123456789abcdefghij';
export const host = (port: number, sandboxId = id): string => `${port}-${sandboxId}.example.test`;
export const agentHost = host(49_983);

/** The edge of the current test. */
export let net: Loopback;

/** Call once in a test file: starts and ends the edge around each test. */
export const useLoopback = (options: LoopbackOptions = {}): void => {
  beforeEach(async () => {
    net = await startLoopback(options);
    net.start(id);
  });
  afterEach(() => net[Symbol.asyncDispose]());
};

export const send = (options: RequestOptions, body?: string | Buffer): ClientRequest => {
  const client = request({ host: '127.0.0.1', port: net.port, agent: false, ...options });
  client.end(body);
  return client;
};
export const answerTo = async (client: ClientRequest): Promise<IncomingMessage> => {
  const [answer] = (await once(client, 'response')) as [IncomingMessage];
  return answer;
};
export const ask = async (
  headers: Record<string, string>,
  options: RequestOptions = {},
  body?: string | Buffer,
) => {
  const answer = await answerTo(send({ headers, ...options }, body));
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) };
};
/** Writes bytes to the edge and returns all that comes back until the connection ends. */
export const raw = async (bytes: string): Promise<string> => {
  const socket = connect({ port: net.port, host: '127.0.0.1' });
  socket.write(bytes);
  return text(socket);
};
