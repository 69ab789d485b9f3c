// Preloaded into a server under test (`node --import`): compares each of its answers with specs/openapi.yaml and writes a line
// to stderr, beginning with `UNDECLARED`, for each that the document does not allow.
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http';
import { type Answer, createAnswerCheck } from './answer-check.ts';
import { UNDECLARED } from './undeclared.ts';

const check = createAnswerCheck();
/** Errors and listings are smaller; a larger body is only looked at from outside. */
const MAX_BODY_BYTES = 1024 * 1024;

subscribe('http.server.request.start', (message) => {
  const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
  const operation = check.find(request);
  if (operation === undefined) return;
  const answer = record(response);
  response.once('finish', () => {
    const problem = check.findProblem(operation, { ...answer, isHead: request.method === 'HEAD' });
    if (problem !== undefined) process.stderr.write(`${UNDECLARED} ${problem}\n`);
  });
});

/** Notes what is written to a response. */
function record(response: ServerResponse): Omit<Answer, 'isHead'> {
  const given: Record<string, unknown> = {};
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  const { writeHead, write, end } = response;
  const keep = (chunk: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    const bytes = Buffer.from(chunk as string);
    sizeBytes += bytes.length;
    if (sizeBytes <= MAX_BODY_BYTES) chunks.push(bytes);
  };
  response.writeHead = function (this: ServerResponse, ...args: unknown[]) {
    const headers = args.find((arg) => typeof arg === 'object' && arg !== null);
    for (const [name, value] of toPairs(headers)) given[name.toLowerCase()] = value;
    return Reflect.apply(writeHead, this, args);
  } as typeof writeHead;
  response.write = function (this: ServerResponse, ...args: unknown[]) {
    keep(args[0]);
    return Reflect.apply(write, this, args);
  } as typeof write;
  response.end = function (this: ServerResponse, ...args: unknown[]) {
    keep(args[0]);
    return Reflect.apply(end, this, args);
  } as typeof end;
  return {
    get status() {
      return response.statusCode;
    },
    get headers() {
      return { ...response.getHeaders(), ...given } as Record<string, OutgoingHttpHeader>;
    },
    get body() {
      return sizeBytes <= MAX_BODY_BYTES ? Buffer.concat(chunks) : undefined;
    },
  };
}

/** The pairs of an object, or of an array with names and values in turn. */
function toPairs(headers: unknown): [string, unknown][] {
  if (!Array.isArray(headers)) return Object.entries(headers ?? {});
  return headers.flatMap((name, at): [string, unknown][] =>
    at % 2 === 0 ? [[String(name), headers[at + 1]]] : [],
  );
}
