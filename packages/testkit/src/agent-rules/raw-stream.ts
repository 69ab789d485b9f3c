import type { Stack, StackSandbox } from '../stack.ts';
import { type Envelope, envelope, readEnvelopes } from './envelopes.ts';
import { createPlainCalls } from './plain-calls.ts';

interface RawStream {
  procedure: string;
  /** In JSON, or the bytes of binary messages. */
  messages: readonly unknown[];
  headers?: Record<string, string>;
}

/** Sends all messages of a stream at once, in JSON unless the headers say otherwise, and gives what came back until its end. */
export const postStream = async (
  stack: Stack,
  sandbox: StackSandbox,
  { procedure, messages, headers = {} }: RawStream,
): Promise<{ status: number; envelopes: Envelope[] }> => {
  const { status, bytes } = await createPlainCalls(() => ({ stack, sandbox })).call(`POST /${procedure}`, {
    headers: { 'content-type': 'application/connect+json', 'connect-protocol-version': '1', ...headers },
    body: Buffer.concat(messages.map((message) => envelope(message))),
  });
  return { status, envelopes: readEnvelopes(bytes) };
};

/** Sends one unary call in JSON. */
export const postCall = async (
  stack: Stack,
  sandbox: StackSandbox,
  procedure: string,
  message: unknown,
): Promise<{ status: number; json: unknown }> => {
  const { status, text } = await createPlainCalls(() => ({ stack, sandbox })).call(`POST /${procedure}`, {
    headers: { 'content-type': 'application/json', 'connect-protocol-version': '1' },
    body: JSON.stringify(message),
  });
  return { status, json: JSON.parse(text) };
};
