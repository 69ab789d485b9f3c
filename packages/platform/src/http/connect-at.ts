import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Peers } from './forward-calls.ts';

/** Resumes a sandbox at the server of that address. Rejects with what it answers. */
export type ConnectAt = (address: string, sandbox: { id: string; timeoutMs: number }) => Promise<void>;

/** As long as a caller waits for a resume at most, with the copy of the files. */
const PATIENCE_MS = 15 * 60_000;

/** No key of a caller is there: the other server knows this one by its certificate. */
export const createConnectAt =
  (peers: Pick<Peers, 'send'>): ConnectAt =>
  async (address, { id, timeoutMs }) => {
    const response = await peers.send(
      address,
      {
        method: 'POST',
        path: `/sandboxes/${id}/connect`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ timeout: Math.ceil(timeoutMs / 1_000) }),
      },
      AbortSignal.timeout(PATIENCE_MS),
    );
    const body = await text(Readable.from(response));
    const { statusCode = 0 } = response;
    if (statusCode >= 300) throw new Error(`the server at ${address} answered ${statusCode}: ${body}`);
  };
