import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Reads what is left of a body once the answer is out. connect-es stops reading at the first error and keeps its place, so
 * that more than the stream buffers would stay in the connection and hold up every request behind it.
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
