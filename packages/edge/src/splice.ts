import { type Duplex, pipeline } from 'node:stream';
import { type Client, reset } from './client.ts';

export interface Splice {
  readonly client: Client;
  /** The bytes that the client sent after the head of its request. */
  readonly clientHead: Buffer;
  readonly upstream: Duplex;
  /** The bytes that the server inside sent after the head of its response. */
  readonly upstreamHead: Buffer;
  /** Writes the head of the response that accepts the new protocol. */
  readonly accept: () => void;
}

/**
 * Writes the response and joins the two connections byte by byte. A proper end on one side ends the other properly;
 * any other end resets the client and closes the connection inside, also when one side has closed before the call.
 */
export const splice = ({ client, clientHead, upstream, upstreamHead, accept }: Splice): void => {
  const breakOff = (): void => {
    reset(client);
    upstream.destroy();
  };
  // A side may close just before the other is connected to it; `pipeline` throws on it, and no caller would catch that.
  if (client.destroyed || upstream.destroyed) {
    breakOff();
    return;
  }
  // Each pipeline listens to both ends.
  client.setMaxListeners(20);
  accept();
  if (upstreamHead.length > 0) client.write(upstreamHead);
  if (clientHead.length > 0) upstream.write(clientHead);

  const whenDone = (error: Error | null | undefined): void => {
    if (error) breakOff();
  };
  pipeline(client, upstream, whenDone);
  pipeline(upstream, client, whenDone);
};
