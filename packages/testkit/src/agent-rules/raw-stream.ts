import type { Envelope } from './envelopes.ts';
import type { RpcCalls } from './rpc-calls.ts';

interface RawStream {
  procedure: string;
  /** In JSON, or the bytes of binary messages. */
  messages: readonly unknown[];
  headers?: Record<string, string>;
}

/** Sends all messages of a stream at once, in JSON unless the headers say otherwise, and returns the answer up to its end. */
export const postStream = async (
  { stream }: RpcCalls,
  { procedure, messages, headers }: RawStream,
): Promise<{ status: number; envelopes: Envelope[] }> => {
  const { status, messages: envelopes } = await stream(procedure, messages, headers);
  return { status, envelopes };
};

/** Sends one unary call in JSON. */
export const postCall = async (
  { unary }: RpcCalls,
  procedure: string,
  message: unknown,
): Promise<{ status: number; json: unknown }> => {
  const { status, json } = await unary(procedure, message);
  return { status, json };
};
