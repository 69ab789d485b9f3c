import type { StackClient, StackSandbox } from '../stack/stack-client.ts';
import type { Envelope } from './envelopes.ts';
import { createPlainCalls } from './plain-calls.ts';
import { createRpcCalls } from './rpc-calls.ts';

interface RawStream {
  procedure: string;
  /** In JSON, or the bytes of binary messages. */
  messages: readonly unknown[];
  headers?: Record<string, string>;
}

/** Sends all messages of a stream at once, in JSON unless the headers say otherwise, and gives what came back until its end. */
export const postStream = async (
  stack: StackClient,
  sandbox: StackSandbox,
  { procedure, messages, headers }: RawStream,
): Promise<{ status: number; envelopes: Envelope[] }> => {
  const calls = createRpcCalls(createPlainCalls(() => ({ stack, sandbox })));
  const { status, messages: envelopes } = await calls.stream(procedure, messages, headers);
  return { status, envelopes };
};

/** Sends one unary call in JSON. */
export const postCall = async (
  stack: StackClient,
  sandbox: StackSandbox,
  procedure: string,
  message: unknown,
): Promise<{ status: number; json: unknown }> => {
  const calls = createRpcCalls(createPlainCalls(() => ({ stack, sandbox })));
  const { status, json } = await calls.unary(procedure, message);
  return { status, json };
};
