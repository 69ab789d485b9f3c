import type { ServerResponse } from 'node:http';
import { toApiError, toErrorBody } from '@skerry/contract/error';

/** Answers with JSON and its length, so that no client meets an empty chunked body. */
export const replyJson = (res: ServerResponse, status: number, body: unknown): void => {
  const bytes = Buffer.from(JSON.stringify(body));
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': bytes.length });
  res.end(bytes);
};

/** Removes the headers of an answer that will not be sent, except those that allow pages of other origins to read it. */
export const clearHeaders = (res: ServerResponse): void => {
  for (const name of res.getHeaderNames()) {
    if (!name.startsWith('access-control-')) res.removeHeader(name);
  }
};

/**
 * Answers with the error body, or resets the connection when an answer has begun: a reader must not mistake half of a file for
 * the whole.
 */
export const replyError = (res: ServerResponse, error: unknown): void => {
  const apiError = toApiError(error);
  if (res.headersSent) {
    // Destroy with an error: HTTP/2 would end the stream as complete otherwise.
    res.destroy(apiError);
    return;
  }
  clearHeaders(res);
  for (const [name, value] of Object.entries(apiError.headers)) res.setHeader(name, value);
  replyJson(res, apiError.status, toErrorBody(apiError));
};
