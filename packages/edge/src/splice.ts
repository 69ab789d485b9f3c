import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, pipeline } from 'node:stream';
import { toForwardedHeaders } from './headers.ts';
import { reset } from './upstream.ts';

export interface Splice {
  readonly client: Socket;
  /** What the client sent behind the head of its request. */
  readonly clientHead: Buffer;
  readonly upstream: Duplex;
  /** What the server inside sent behind the head of its answer. */
  readonly upstreamHead: Buffer;
  /** The answer that agrees to the new protocol. */
  readonly answer: IncomingMessage;
}

/**
 * Writes the answer and joins the two connections byte by byte. A proper end on one side ends the other properly, anything
 * else resets the client and closes the connection inside. So does a side that is gone already.
 */
export const splice = ({ client, clientHead, upstream, upstreamHead, answer }: Splice): void => {
  const breakOff = (): void => {
    reset(client);
    upstream.destroy();
  };
  // A side may go in the moment before the other is told; `pipeline` throws on it, with nobody there to catch.
  if (client.destroyed || upstream.destroyed) {
    breakOff();
    return;
  }
  const headers = toForwardedHeaders(answer);
  headers.push('Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? '');
  let head = `HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2)
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  client.write(`${head}\r\n`, 'latin1');
  if (upstreamHead.length > 0) client.write(upstreamHead);
  if (clientHead.length > 0) upstream.write(clientHead);

  const whenDone = (error: Error | null | undefined): void => {
    if (error) breakOff();
  };
  pipeline(client, upstream, whenDone);
  pipeline(upstream, client, whenDone);
};
