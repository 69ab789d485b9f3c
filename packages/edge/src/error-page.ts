import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { REQUEST_ID, requestIdOf } from '@skerry/contract/request-id';
import type { Target } from './target.ts';

/** An error response about a sandbox that the edge itself creates. */
export interface EdgeError {
  readonly status: number;
  /** A 502 has one of the two strings of the protocol: clients decide by them whether the sandbox runs. */
  readonly message: string;
  /** The cause, where several causes have the same message. */
  readonly detail?: string;
  readonly target: Target;
  /** Whether the JSON body contains the port: true where the port is the cause. */
  readonly namesPort?: boolean;
  /** The limit that was reached, for the JSON body. */
  readonly connectionLimit?: number;
  /** Whole seconds after which the same request may succeed; the default is 1 for a 429, and none for others. */
  readonly retryAfter?: string;
}

/**
 * Sends the error: as HTML for a browser navigation, else as JSON. The JSON contains both spellings of the id because
 * clients read either. Does nothing when a response has begun.
 */
export const sendError = (request: IncomingMessage, response: ServerResponse, error: EdgeError): void => {
  const { status, message, target, retryAfter = status === 429 ? '1' : undefined } = error;
  if (allowPreflight(request, response)) return;
  if (retryAfter !== undefined && !response.headersSent) response.setHeader('retry-after', retryAfter);
  if (isNavigation(request)) {
    send(response, status, 'text/html; charset=utf-8', toPage(error));
    return;
  }
  const body = {
    sandboxID: target.sandboxId,
    sandboxId: target.sandboxId,
    message,
    ...(error.namesPort === true ? { port: target.port } : {}),
    code: status,
    ...(error.detail === undefined ? {} : { detail: error.detail }),
    ...(error.connectionLimit === undefined ? {} : { connectionLimit: error.connectionLimit }),
  };
  sendJson(response, status, body);
};

/** Sends an error that is not about a sandbox, as JSON. */
export const sendJson = (
  response: ServerResponse,
  status: number,
  body: object,
  type = 'application/json; charset=utf-8',
): void => send(response, status, type, JSON.stringify(body));

/** Sends a browser to an address of the same host, with a cookie for it. */
export const sendToAddress = (
  response: ServerResponse,
  { location, cookie }: { location: string; cookie: string },
): void => {
  response.writeHead(303, {
    location,
    'set-cookie': cookie,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'content-length': 0,
    [REQUEST_ID]: requestIdOf(response.req),
  });
  response.end();
};

/** Sends a short text. */
export const sendText = (response: ServerResponse, status: number, text: string): void =>
  send(response, status, 'text/plain; charset=utf-8', `${text}\n`);

const send = (response: ServerResponse, status: number, type: string, body: string): void => {
  if (response.headersSent) return;
  const { req: request } = response;
  const content = Buffer.from(body);
  // The page depends on what runs at this moment, so it must not be cached.
  // The status text is set because a failed attempt to forward a response may have left one behind.
  response.writeHead(status, STATUS_CODES[status], {
    'content-type': type,
    'content-length': content.byteLength,
    'cache-control': 'no-store',
    [REQUEST_ID]: requestIdOf(request),
    ...(request.headers.origin === undefined ? {} : readableByPages),
  });
  response.end(content);
};

/** Allows pages of any origin to read the edge's errors, as the agent does for its responses. */
const readableByPages = { 'access-control-allow-origin': '*', 'access-control-expose-headers': '*' };

/**
 * Answers a preflight that no server inside can answer: after a failed preflight a browser hides every error from the
 * page. The request that follows gets the error itself. Returns whether the request was a preflight.
 */
const allowPreflight = (request: IncomingMessage, response: ServerResponse): boolean => {
  const { headers } = request;
  if (!isPreflight(request)) return false;
  if (response.headersSent) return true;
  response.writeHead(204, {
    ...readableByPages,
    'access-control-allow-methods': headers['access-control-request-method'],
    'access-control-allow-headers': headers['access-control-request-headers'] ?? '*',
    'cache-control': 'no-store',
    [REQUEST_ID]: requestIdOf(request),
  });
  response.end();
  return true;
};

/** A browser asks whether a page may send a request. */
export const isPreflight = ({ headers, method }: IncomingMessage): boolean =>
  method === 'OPTIONS' &&
  headers.origin !== undefined &&
  headers['access-control-request-method'] !== undefined;

/** The graphical browsers, which all begin with Mozilla but older ones of Opera, and those for a terminal. */
const browser = /\b(mozilla|opera|lynx|w3m|e?links)\b/i;

/** A browser that navigates to an address, as opposed to a program or a script in a page. */
export const isNavigation = ({ headers }: IncomingMessage): boolean => {
  const mode = headers['sec-fetch-mode'];
  return (
    browser.test(headers['user-agent'] ?? '') &&
    !acceptsJsonAlone(headers.accept ?? '*/*') &&
    (mode === undefined || mode === 'navigate')
  );
};

/** Whether each range of an `Accept` header is a JSON type, whatever its parameters and case. */
const acceptsJsonAlone = (accept: string): boolean =>
  accept.split(',').every((range) => /^\s*(application|text)\/([\w.-]+\+)?json\s*(;|$)/i.test(range));

const toPage = ({ status, message, detail, target }: EdgeError): string =>
  `${beginPage(message, target, { title: `${status} ${message}`, detail })}</html>\n`;

/** A page about a sandbox, without its end. */
export const beginPage = (
  heading: string,
  { sandboxId, port }: Target,
  { title = heading, detail }: { title?: string; detail?: string | undefined } = {},
): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem}code{background:#8882;padding:.1em .3em}</style>
<h1>${escapeHtml(heading)}</h1>
<p>Sandbox <code>${escapeHtml(sandboxId)}</code>, port <code>${port}</code>${detail === undefined ? '' : `: ${escapeHtml(detail)}`}.</p>
`;

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
