import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Drains the rest of a request body after the response. connect-es stops at the first error and keeps its iterator open; unread
 * bytes would block the next request on the connection. The body must be read with `for await`; stopping early then leaves the
 * connection usable for the answer.
 */
export const dropUnread = (req: IncomingMessage, res: ServerResponse): void => {
  const body = req.iterator({ destroyOnReturn: false });
  req[Symbol.asyncIterator] = () => body;
  const drop = async (): Promise<void> => {
    await body.return?.();
    req.resume();
  };
  res.once('finish', () => {
    // The response is sent: an error of the rest of the body does not matter.
    drop().catch(() => undefined);
  });
};
