import type { IncomingMessage } from 'node:http';
import { invalid } from '@skerry/contract/error';

/** Reads a body of JSON. Rejects with `invalid_argument` when it is none or larger than `maxBytes`. */
export const readJson = async (
  req: IncomingMessage,
  { maxBytes }: { maxBytes: number },
): Promise<unknown> => {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) {
      // An unread rest of the body would stay in the connection and be parsed as the next request.
      req.resume();
      throw invalid(`the body must have at most ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (error) {
    throw invalid('body is not JSON', { cause: error });
  }
};
