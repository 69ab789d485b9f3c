import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** The flags and the length before each message of a stream. */
const HEAD_BYTES = 5;
const END_OF_STREAM = 2;

export const isProcessStart = ({ url }: IncomingMessage): boolean => url === '/process.Process/Start';

/**
 * Answers a call that starts a process, in the JSON form of the protocol. `true` and `false` end at once, and any other
 * command runs until the caller leaves.
 */
export const answerProcessStart: RequestListener = (request, response) => {
  void buffer(request).then((body) => {
    const { process } = JSON.parse(String(body.subarray(HEAD_BYTES))) as { process: { args: string[] } };
    response.writeHead(200, { 'content-type': 'application/connect+json' });
    send(response, { event: { start: { pid: 7 } } });
    const command = process.args.at(-1);
    if (command !== 'true' && command !== 'false') return;
    send(response, { event: { end: { exitCode: command === 'true' ? 0 : 1, exited: true } } });
    send(response, {}, END_OF_STREAM);
    response.end();
  });
};

const send = (response: ServerResponse, message: object, flags = 0): void => {
  const text = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt8(flags);
  head.writeUInt32BE(text.length, 1);
  response.write(Buffer.concat([head, text]));
};
