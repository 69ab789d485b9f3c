import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { ApiError, isUnavailable } from '@skerry/contract/error';
import { beginSpanFor } from '@skerry/contract/tracing';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { ElsewhereError } from '../hosts/elsewhere.ts';
import { UnreachablePeerError } from './unreachable-peer.ts';

/** A call of the platform API, as far as it decides which of several servers makes it. */
export interface Call {
  method: string;
  /** The path in fastify's form: `/sandboxes/:sandboxID`. */
  pattern: string;
  params: Record<string, string | undefined>;
  query: Record<string, string | undefined>;
}

/** The other servers of the same database. */
export interface Peers {
  /** Whether another server has sent a request, which has to be answered here then. */
  isFromPeer(request: IncomingMessage): boolean;
  /**
   * Makes a call at the server of that address. Resolves with the head of its response; rejects when the connection fails, with
   * `UnreachablePeerError` when there was none.
   */
  send(
    address: string,
    call: { method: string; path: string; headers: IncomingHttpHeaders; body: Readable | string | undefined },
    signal: AbortSignal,
  ): Promise<IncomingMessage>;
}

export interface ForwardingOptions {
  peers: Peers;
  locate(call: Call): Promise<string | undefined>;
  clock: Pick<Clock, 'after'>;
  /** Called for each. */
  onForward?: (() => void) | undefined;
}

/** How often the owner of what a call waits for is looked up: one that hangs loses it. */
const LOOKUP_MS = 2_000;
/** Headers that concern one connection only: they are not passed on to the other one. */
const hopHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'expect', 'te']);

/** Makes calls at the servers that own what they are for, after their authentication and before their validation. */
export const forwardCalls = (
  server: FastifyInstance,
  { peers, locate, clock, onForward }: ForwardingOptions,
) => {
  const toCall = (request: FastifyRequest): Call => ({
    method: request.method,
    pattern: request.routeOptions.url ?? '',
    params: request.params as Call['params'],
    query: request.query as Call['query'],
  });

  /** Aborts the signal when the call has another owner, or none. */
  const watchOwner = (address: string, call: Call, left: AbortController): (() => void) => {
    let cancel = (): void => {};
    const look = (): void => {
      cancel = clock.after(LOOKUP_MS, () => {
        void locate(call)
          // No server owns it now, or the database cannot say: either way the call is left, and its caller gets 503.
          .catch(() => undefined)
          .then((now) => (now === address ? look() : left.abort(new Error('it is no longer the owner'))));
      });
    };
    look();
    return () => cancel();
  };

  const forward = async (
    address: string,
    request: FastifyRequest,
    reply: FastifyReply,
    call?: Call,
  ): Promise<FastifyReply> => {
    onForward?.();
    const left = new AbortController();
    const leave = (): void => left.abort(new Error('the caller disconnected'));
    reply.raw.once('close', leave);
    const cancel = call ? watchOwner(address, call, left) : undefined;
    const span = beginSpanFor(request.raw, () => ({ name: 'another server' }));
    try {
      const traced = { ...request.headers, ...(span && { traceparent: span.traceparent }) };
      const headers = Object.entries(traced).filter(([name]) => !hopHeaders.has(name));
      const body = toBody(request.body);
      const response = await peers.send(
        address,
        {
          method: request.method,
          path: request.raw.url ?? '/',
          headers: Object.fromEntries(
            body instanceof Readable ? headers : headers.filter(([name]) => name !== 'content-length'),
          ),
          body,
        },
        left.signal,
      );
      span?.end();
      reply.code(response.statusCode ?? 502);
      for (const [name, value] of Object.entries(response.headers))
        if (value !== undefined && !hopHeaders.has(name)) reply.header(name, value);
      if (response.statusCode !== 204) return await reply.send(response);
      response.resume();
      return await reply.send();
    } catch (cause) {
      span?.end(cause);
      // 503 means that nothing has changed.
      const mayHaveActed = request.method !== 'GET' && !(cause instanceof UnreachablePeerError);
      throw new ApiError(
        mayHaveActed ? 'bad_gateway' : 'unavailable',
        mayHaveActed
          ? 'the server that owns what this is for has the call and did not answer: it may have acted'
          : 'the server that owns what this is for did not answer: try again',
        { cause, headers: { 'Retry-After': '1' } },
      );
    } finally {
      cancel?.();
    }
  };

  server.addHook('preHandler', async (request, reply) => {
    if (peers.isFromPeer(request.raw)) return undefined;
    const call = toCall(request);
    try {
      const address = await locate(call);
      return address === undefined ? undefined : await forward(address, request, reply, call);
    } catch (error) {
      // What was recorded can be read here too.
      const isReadable = request.method === 'GET' && call.params.sandboxID !== undefined && !reply.sent;
      if (isReadable && isUnavailable(error)) return undefined;
      throw error;
    }
  });

  return {
    /** Makes a call that has rejected with `ElsewhereError` there; undefined for other errors. */
    redirect: (
      error: unknown,
      request: FastifyRequest,
      reply: FastifyReply,
    ): Promise<FastifyReply> | undefined =>
      error instanceof ElsewhereError ? forward(error.address, request, reply) : undefined,
  };
};

const toBody = (body: unknown): Readable | string | undefined => {
  if (body === undefined || body === null || body instanceof Readable) return body ?? undefined;
  return JSON.stringify(body);
};
