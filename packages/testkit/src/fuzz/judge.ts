import type { Answer, Conversation } from './answers.ts';
import type { FuzzRequest, Rule } from './request.ts';

/** HTTP status of a Connect code, for unary calls. */
const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map([
  ['invalid_argument', 400],
  ['failed_precondition', 400],
  ['out_of_range', 400],
  ['unauthenticated', 401],
  ['permission_denied', 403],
  ['not_found', 404],
  ['already_exists', 409],
  ['aborted', 409],
  ['resource_exhausted', 429],
  ['canceled', 499],
  ['unknown', 500],
  ['internal', 500],
  ['data_loss', 500],
  ['unimplemented', 501],
  ['unavailable', 503],
  ['deadline_exceeded', 504],
]);

/** Calls of which the protocol says that they may fail with `internal` or `unknown`, and why. */
const MAY_FAIL: ReadonlyMap<string, readonly string[]> = new Map([
  // A file stands where a parent should be.
  ['filesystem.Filesystem/MakeDir', ['internal']],
  ['filesystem.Filesystem/Move', ['internal']],
  ['filesystem.Filesystem/Remove', ['internal']],
  // The stored error of a watcher that has failed.
  ['filesystem.Filesystem/GetWatcherEvents', ['internal']],
  // Input that the process cannot take, and a size for something that is no terminal.
  ['process.Process/SendInput', ['internal']],
  ['process.Process/StreamInput', ['internal']],
  ['process.Process/Update', ['internal']],
  ['process.Process/CloseStdin', ['unknown']],
]);

/** What HTTP itself answers where a request is none, too large, too slow, or for no known host. */
const HTTP_REFUSALS = [400, 404, 405, 408, 413, 415, 417, 431];
/** Those that Node answers by itself, before a handler has seen the request: without a body. */
const PLAIN_REFUSALS = [400, 408, 413, 417, 431];
const STATUSES: Readonly<Record<Rule, readonly number[]>> = {
  // 500 only with a message that says which file the agent cannot work on, see below.
  files: [200, 204, 206, 304, 400, 401, 404, 405, 406, 408, 412, 413, 415, 416, 417, 431, 500, 507],
  unary: [200, 401, 409, 429, 499, 500, 501, 503, 504, ...HTTP_REFUSALS],
  stream: [200, 401, ...HTTP_REFUSALS],
  edge: [200, 204, 206, 304, 401, 403, 406, 409, 412, 416, 426, 429, 501, 502, 504, ...HTTP_REFUSALS],
  platform: [200, 201, 202, 204, 401, 403, 409, 429, 501, 503, 504, ...HTTP_REFUSALS],
  bytes: [200, 204, 401, 406, 426, 501, 502, 505, ...HTTP_REFUSALS],
};

/** Frames of a stack, modules of a runtime, and files of a checkout: nothing a caller may see. */
const INTERNALS = /\n\s+at |node:internal|node_modules|\bfile:\/\/|\.[jt]s:\d+|\bundefined\b|\[object /;

/** What the edge reads of a head. */
const MAX_HEAD_BYTES = 64 * 1024;

const parseJson = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    // The judge says what is wrong with it.
    return undefined;
  }
};

const judgeCode = (code: unknown, message: unknown, procedure: string): string | undefined => {
  if (typeof code !== 'string' || !STATUS_OF_CODE.has(code))
    return `the code ${JSON.stringify(code)} is none of Connect`;
  const isWeak = code === 'internal' || code === 'unknown' || code === 'data_loss';
  if (isWeak && MAY_FAIL.get(procedure)?.includes(code) !== true)
    return `${procedure} may not fail with ${code}`;
  if (message === 'internal server error') return 'the error is unexpected: internal server error';
  return INTERNALS.test(String(message)) ? `internals in an error: ${String(message)}` : undefined;
};

const judgeError = ({ status, headers, body }: Answer, request: FuzzRequest): string | undefined => {
  if (request.isHead) return undefined;
  if (body.length === 0) {
    const isOfHttp = PLAIN_REFUSALS.includes(status) && !headers.has('content-type');
    return isOfHttp ? undefined : `status ${status} without a body`;
  }
  const type = headers.get('content-type') ?? '';
  if (/^text\/(plain|html)/.test(type)) {
    return body.length < 4096 ? undefined : 'the text of an error is longer than 4 KiB';
  }
  if (!type.startsWith('application/json')) return `an error of type "${type}"`;
  const json = parseJson(body);
  if (typeof json !== 'object' || json === null) return 'the body of an error is no JSON object';
  const { code, message } = json as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && request.procedure !== undefined) {
    const complaint = judgeCode(code, message, request.procedure);
    if (complaint !== undefined) return complaint;
    return STATUS_OF_CODE.get(code) === status ? undefined : `${code} came with status ${status}`;
  }
  if (code !== status) return `the body says ${JSON.stringify(code)} under status ${status}`;
  if (typeof message !== 'string' || message === '') return 'an error without a message';
  if (message === 'internal server error') return 'the error is unexpected: internal server error';
  return undefined;
};

/** Every envelope whole, the last one and no other marked as the end, and an error in it one of Connect. */
const judgeStream = ({ body, isComplete }: Answer, { procedure = '' }: FuzzRequest): string | undefined => {
  for (let at = 0; at < body.length; ) {
    if (at + 5 > body.length) return isComplete ? 'the stream ends inside an envelope' : undefined;
    const flags = body.readUInt8(at);
    const end = at + 5 + body.readUInt32BE(at + 1);
    if ((flags & ~2) !== 0) return `an envelope has the flags ${flags}`;
    if (end > body.length) return isComplete ? 'the stream ends inside an envelope' : undefined;
    if (flags === 2) {
      if (end !== body.length) return 'something follows the end of the stream';
      const trailer = parseJson(body.subarray(at + 5, end)) as {
        error?: { code?: unknown; message?: unknown };
      };
      if (typeof trailer !== 'object' || trailer === null) return 'the end of the stream is no JSON object';
      if (trailer.error === undefined) return undefined;
      return judgeCode(trailer.error.code, trailer.error.message, procedure);
    }
    at = end;
  }
  return isComplete ? 'the stream has no end' : undefined;
};

/** Says what is wrong with how a request was answered; undefined when everything is as documented. */
export const judge = (
  request: FuzzRequest,
  { answers, end }: Conversation,
  secrets: readonly string[],
): string | undefined => {
  const { rule, isWhole } = request;
  if (end === 'malformed') return 'the answer is no HTTP';
  const [answer] = answers;
  if (answer === undefined) {
    // A client that sends more than is read may lose the refusal to the reset of the connection.
    if (!isWhole || request.head.length > MAX_HEAD_BYTES) return undefined;
    return end === 'silent' ? 'no answer within 30 s' : 'closed without an answer';
  }
  const { status, headers, body } = answer;
  const mayBreak = rule === 'stream' || rule === 'bytes' || status === 431;
  if (isWhole && !answer.isComplete && !mayBreak) return `the answer ${status} was aborted`;
  if (!STATUSES[rule].includes(status)) return `status ${status}: ${body.subarray(0, 300).toString()}`;
  // The contents of files and directories are no secrets here.
  const leaked = [[...headers].flat().join('\n'), status < 400 ? '' : body.toString()].find(
    (part) => INTERNALS.test(part) || secrets.some((secret) => part.includes(secret)),
  );
  if (leaked !== undefined) return `internals in an answer: ${leaked.slice(0, 500)}`;
  if (status >= 400) return judgeError(answer, request);
  if (rule === 'stream') return judgeStream(answer, request);
  if (rule === 'unary' && headers.get('content-type') === 'application/json') {
    return parseJson(body) === undefined ? 'the body is no JSON' : undefined;
  }
  return undefined;
};
