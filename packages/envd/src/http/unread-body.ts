import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Reads what is left of a body once the answer is out, whoever stopped reading where. Whoever stops and keeps the place, as
 * connect-es does at the first error, would leave more than the stream buffers in the connection, and hold up every request
 * behind it. The body must be read with `for await`; stopping early then leaves the connection usable for the answer.
 */
export const dropUnread = (req: IncomingMessage, res: ServerResponse): void => {
  const body = req.iterator({ destroyOnReturn: false });
  req[Symbol.asyncIterator] = () => body;
  const drop = async (): Promise<void> => {
    await body.return?.();
    req.resume();
  };
  res.once('finish', () => {
    // A body that breaks now was no longer wanted.
    drop().catch(() => undefined);
  });
};
