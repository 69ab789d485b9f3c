import { type Envelope, envelope, readEnvelopes } from './envelopes.ts';
import type { PlainAnswer, PlainCalls } from './plain-calls.ts';

export interface UnaryAnswer extends PlainAnswer {
  readonly json: unknown;
}

export interface StreamAnswer extends PlainAnswer {
  readonly messages: Envelope[];
}

/** Connect calls as they go over the wire, in JSON unless the headers say otherwise. */
export interface RpcCalls {
  unary(procedure: string, body: unknown, headers?: Record<string, string>): Promise<UnaryAnswer>;
  /** Sends the messages and resolves when the stream has ended. */
  stream(
    procedure: string,
    messages: readonly unknown[],
    headers?: Record<string, string>,
  ): Promise<StreamAnswer>;
}

export const version = { 'connect-protocol-version': '1' };
export const unaryJson = { ...version, 'content-type': 'application/json' };
export const streamJson = { ...version, 'content-type': 'application/connect+json' };

const isRaw = (body: unknown): body is string | Buffer => typeof body === 'string' || Buffer.isBuffer(body);

/** Headers given replace those that a call has by itself; `''` as the value of one takes it away. */
const toHeaders = (base: Record<string, string>, headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries({ ...base, ...headers }).filter(([, value]) => value !== ''));

export const createRpcCalls = ({ call }: PlainCalls): RpcCalls => ({
  async unary(procedure, body, headers = {}) {
    const answer = await call(`POST /${procedure}`, {
      headers: toHeaders(unaryJson, headers),
      body: isRaw(body) ? body : JSON.stringify(body),
    });
    const isJson =
      answer.headers['content-type'] === 'application/json' && !answer.headers['content-encoding'];
    return { ...answer, json: isJson ? JSON.parse(answer.text) : undefined };
  },
  async stream(procedure, messages, headers = {}) {
    const answer = await call(`POST /${procedure}`, {
      headers: toHeaders(streamJson, headers),
      body: Buffer.concat(messages.map((message) => envelope(message))),
    });
    const isStream = answer.headers['content-type']?.startsWith('application/connect+') === true;
    return { ...answer, messages: isStream ? readEnvelopes(answer.bytes) : [] };
  },
});

/** The payloads of a stream of JSON. */
export const jsonOf = ({ messages }: StreamAnswer): unknown[] => messages.map(({ json }) => json);
