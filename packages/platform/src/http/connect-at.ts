import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ApiError, toErrorCode } from '@skerry/contract/error';
import type { Peers } from './forward-calls.ts';

/**
 * Resumes a sandbox at the server of that address, for that time, or without one as traffic does. Rejects with the error that it
 * answers, and with `unavailable` when it does not answer.
 */
export type ConnectAt = (address: string, sandbox: { id: string; timeoutMs?: number }) => Promise<void>;

/** The longest time that a caller waits for a resume, including the copy of the files. */
const PATIENCE_MS = 15 * 60_000;

/** No key of a caller is there: the other server knows this one by its certificate. */
export const createConnectAt =
  (peers: Pick<Peers, 'send'>): ConnectAt =>
  async (address, { id, timeoutMs }) => {
    const call = {
      method: 'POST',
      path: `/v2/sandboxes/${id}/connect`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(timeoutMs === undefined ? {} : { timeout: Math.ceil(timeoutMs / 1_000) }),
    };
    const answer = async () => {
      const response = await peers.send(address, call, AbortSignal.timeout(PATIENCE_MS));
      return { status: response.statusCode ?? 0, body: await text(Readable.from(response)) };
    };
    const { status, body } = await answer().catch((cause: unknown) => {
      throw new ApiError('unavailable', 'the server that owns the sandbox did not answer', { cause });
    });
    if (status >= 300) throw new ApiError(toErrorCode(status), toMessage(body));
  };

/** The message of the body of an error. */
const toMessage = (body: string): string => {
  try {
    const { message } = JSON.parse(body) as { message?: unknown };
    if (typeof message === 'string') return message;
  } catch {
    // No server of skerry answers like this: the words below have to do.
  }
  return 'the server that owns the sandbox could not resume it';
};
