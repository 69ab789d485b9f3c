import type { IncomingMessage, ServerResponse } from 'node:http';
import { agentPort, type Directory, type Dormant, type Route } from '@skerry/contract/directory';
import { ApiError, SHUTTING_DOWN, toApiError } from '@skerry/contract/error';
import { requireWakeAccess } from '../agent-access.ts';
import { type EdgeError, isNavigation, isPreflight, sendError } from '../error-page.ts';
import { passPortRequest } from '../ports/pass-port-request.ts';
import type { Target } from '../target.ts';
import { openWaitingPage } from './waiting-page.ts';

export interface RequestHolderOptions {
  directory: Pick<Directory, 'find' | 'findDormant'>;
  /** How many requests may wait for one sandbox. */
  perSandbox: number;
  /** How many may wait in all. */
  inAll: number;
  /** How long one waits at most. */
  waitMs: number;
  /** A request may resume its sandbox, and waits from now on. */
  onHeld(request: IncomingMessage): void;
}

/** A request that is held. */
export interface HeldRequest {
  request: IncomingMessage;
  response: ServerResponse;
  target: Target;
  /** Whether its connection is to change to another protocol. */
  isUpgrade: boolean;
}

/** Holds requests for paused sandboxes while those are resumed. */
export interface RequestHolder {
  /**
   * The way to a sandbox that `find` did not return, when it can be resumed for this request. Undefined when it cannot be found;
   * `answered` when the request has its answer, or its caller has left.
   */
  awake(held: HeldRequest): Promise<Route | 'answered' | undefined>;
  /** Resets the connections of all that wait. */
  close(): void;
}

const tooLate = (): ApiError =>
  new ApiError('conflict', 'The sandbox is still being resumed: try again', {
    headers: { 'Retry-After': '1' },
  });

export const createRequestHolder = (options: RequestHolderOptions): RequestHolder => {
  const { directory, perSandbox, inAll, waitMs, onHeld } = options;
  const waiting = new Map<string, Set<ServerResponse>>();
  let total = 0;

  const findProblem = ({ request, target }: HeldRequest, { accessToken }: Dormant): Refusal | undefined => {
    if (target.port === agentPort && accessToken !== undefined) {
      // A running agent answers it to everyone.
      if (isPreflight(request)) return { status: 403, message: 'The sandbox is paused' };
      try {
        requireWakeAccess(request, accessToken);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        return { status: 403, message: `The sandbox is paused, and is not resumed: ${error.message}` };
      }
    }
    if ((waiting.get(target.sandboxId)?.size ?? 0) >= perSandbox) {
      const message = `The sandbox has reached its limit of ${perSandbox} connections`;
      return { status: 429, message, connectionLimit: perSandbox, retryAfter: '1' };
    }
    if (total < inAll) return undefined;
    const message = `The limit of ${inAll} requests that wait for paused sandboxes is reached`;
    return { status: 429, message, connectionLimit: inAll, retryAfter: '1' };
  };

  /** Resolves when the sandbox runs; rejects with `Left` when the caller has gone. */
  const wait = async ({ response, target: { sandboxId } }: HeldRequest, dormant: Dormant): Promise<void> => {
    const own = waiting.get(sandboxId) ?? new Set();
    waiting.set(sandboxId, own.add(response));
    total += 1;
    const leaving = new AbortController();
    const leave = (): void => leaving.abort(new Left());
    const timer = setTimeout(() => leaving.abort(tooLate()), waitMs);
    response.once('close', leave);
    try {
      await dormant.wake(leaving.signal);
    } finally {
      clearTimeout(timer);
      response.off('close', leave);
      own.delete(response);
      if (own.size === 0) waiting.delete(sandboxId);
      total -= 1;
    }
  };

  return {
    awake: async (held) => {
      const { request, response, target, isUpgrade } = held;
      const dormant = await directory.findDormant(target.sandboxId);
      if (dormant === undefined) return undefined;
      // The caller may have left during the lookup, and `close` has no listener yet.
      if (response.destroyed || request.socket.destroyed) return 'answered';
      if (
        target.port !== agentPort &&
        passPortRequest(request, response, { target, ports: dormant.ports }) === 'answered'
      )
        return 'answered';
      const problem = findProblem(held, dormant);
      if (problem !== undefined) {
        sendError(request, response, { ...problem, target });
        return 'answered';
      }
      onHeld(request);
      const isPage = !isUpgrade && request.method === 'GET' && isNavigation(request) && asksForPage(request);
      const page = isPage ? openWaitingPage(response, target) : undefined;
      try {
        await wait(held, dormant);
      } catch (error) {
        if (error instanceof Left) return 'answered';
        const refusal = toRefusal(error);
        if (refusal === undefined && page === undefined) return undefined;
        const { status, message } = refusal ?? notFound;
        if (page === undefined) sendError(request, response, { status, message, ...refusal, target });
        else if (status === 409) page.reload();
        else page.fail(message);
        return 'answered';
      }
      const route = await directory.find(target.sandboxId);
      if (page === undefined) return route;
      if (route === undefined) page.fail(notFound.message);
      else page.reload();
      return 'answered';
    },
    close: () => {
      for (const responses of waiting.values()) for (const { req } of responses) req.socket.destroy();
    },
  };
};

/** Programs that call themselves a browser take anything. */
const asksForPage = ({ headers }: IncomingMessage): boolean =>
  headers['sec-fetch-mode'] === 'navigate' || /\btext\/html\b/i.test(headers.accept ?? '');

type Refusal = Omit<EdgeError, 'target'>;

const notFound = { status: 502, message: 'The sandbox was not found' };

/** The caller has gone. */
class Left extends Error {}

/** What is answered when a sandbox could not be resumed; undefined when it is gone. */
const toRefusal = (thrown: unknown): Refusal | undefined => {
  const { code, message, reason, headers } = toApiError(thrown);
  if (code === 'not_found') return undefined;
  const status = code === 'conflict' ? 409 : code === 'resource_exhausted' ? 429 : 403;
  return {
    status,
    message:
      status === 403 ? `The sandbox could not be resumed: ${toReason({ code, message, reason })}` : message,
    ...(headers['Retry-After'] !== undefined && { retryAfter: headers['Retry-After'] }),
  };
};

/** Anyone may ask a port: the words of a server that has no place for a sandbox name its nodes, and `explain` has them. */
const toReason = ({ code, message, reason }: Pick<ApiError, 'code' | 'message' | 'reason'>): string =>
  code === 'unavailable' && reason !== SHUTTING_DOWN ? 'there is no place for it now' : message;
