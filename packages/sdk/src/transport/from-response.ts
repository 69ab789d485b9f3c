import {
  MemoryNotKeptError,
  type Obstacle,
  type SandboxError,
  type SandboxErrorCode,
  toSandboxError,
} from '../errors.ts';
import { parseRetryAfter } from './retrying-fetch.ts';

const codes: Record<number, SandboxErrorCode> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  405: 'unimplemented',
  406: 'not_acceptable',
  409: 'conflict',
  429: 'resource_exhausted',
  501: 'unimplemented',
  503: 'unavailable',
  504: 'timeout',
  507: 'insufficient_storage',
};

/** In messages. */
const MAX_TEXT_LENGTH = 200;

interface HttpAnswer {
  status: number;
  headers: Headers;
  /** Parsed JSON, or text, or undefined. */
  body: unknown;
  cause?: unknown;
}

/**
 * Maps an HTTP response to an error. The status decides; the body, which may come from a proxy, only provides the
 * message.
 */
export function fromResponse({ status, headers, body, cause }: HttpAnswer): SandboxError {
  const code = status === 502 ? toGatewayCode(body) : (codes[status] ?? toCodeOfClass(status));
  const message =
    toRedirect(status, headers) ?? readString(body, 'message') ?? (readText(body) || `HTTP ${status}`);
  const retryAfterMs = parseRetryAfter(headers.get('retry-after'));
  const options = { cause, requestId: headers.get('x-request-id') ?? undefined, retryAfterMs };
  const obstacle = readObstacle(body);
  return obstacle === undefined
    ? toSandboxError(code, message, options)
    : new MemoryNotKeptError(code, message, { ...options, obstacle });
}

/** No client follows a redirect: it would send tokens and files to an address that the service, or code in a sandbox, chooses. */
function toRedirect(status: number, headers: Headers): string | undefined {
  if (status === 0)
    return 'the answer is a redirect to an address that the browser hides, which is not followed';
  const address = status >= 300 && status < 400 ? headers.get('location') : null;
  if (address === null) return undefined;
  return `the answer is a redirect to ${address.slice(0, MAX_TEXT_LENGTH)}, which is not followed`;
}

// The edge names the sandbox in its 502; one without it comes from a proxy whose service is down.
function toGatewayCode(body: unknown): SandboxErrorCode {
  return (readString(body, 'sandboxID') ?? readString(body, 'sandboxId'))
    ? 'sandbox_unavailable'
    : 'unavailable';
}

function toCodeOfClass(status: number): SandboxErrorCode {
  return status >= 400 && status < 500 ? 'invalid_argument' : 'internal';
}

function readString(body: unknown, key: string): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const value: unknown = Reflect.get(body, key);
  return typeof value === 'string' ? value : undefined;
}

function readObstacle(body: unknown): Obstacle | undefined {
  const obstacle: unknown = typeof body === 'object' && body !== null && Reflect.get(body, 'obstacle');
  const kind = readString(obstacle, 'kind');
  if (kind === undefined) return undefined;
  const process: unknown = Reflect.get(obstacle as object, 'process');
  const command = readString(process, 'command');
  if (command === undefined) return { kind };
  return { kind, process: { pid: Number(Reflect.get(process as object, 'pid')), command } };
}

function readText(body: unknown): string {
  return typeof body === 'string' ? body.trim().slice(0, MAX_TEXT_LENGTH) : '';
}
