import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { agentPort, type Directory, type Route } from '@skerry/contract/directory';
import { ApiError, toErrorBody, toErrorHeaders } from '@skerry/contract/error';
import { requestIdOf } from '@skerry/contract/request-id';
import { admit } from './admission.ts';
import { type CheckedRequest, checkAgentRequest } from './agent-access.ts';
import { answerOf, type Client, clientOf, noteResponse, streamOf } from './client.ts';
import { sendError, sendJson } from './error-page.ts';
import { createFailureLog } from './failure-log.ts';
import { toForwardedHeaders, toHead } from './headers.ts';
import { type HostRules, isSandboxAddress } from './host.ts';
import { passPortRequest } from './ports/pass-port-request.ts';
import { lacksProtocolVersion } from './protocol-version.ts';
import { forward } from './proxy.ts';
import { splice } from './splice.ts';
import type { Target } from './target.ts';
import { createUpstreams, isRefused } from './upstream.ts';
import { createRequestHolder } from './waking/request-holder.ts';

export interface EdgeOptions {
  readonly directory: Directory;
  /** The domain under which sandboxes have their host names. */
  readonly domain: string;
  /** Further host names on which the routing headers apply. */
  readonly sharedHosts?: readonly string[];
  /** The maximum of open requests and upgraded connections for one sandbox; the default is 1000. Beyond it, 429. */
  readonly connectionLimit?: number;
  /** The maximum of requests that wait for paused sandboxes; the default is 4000. Beyond it, 429. */
  readonly heldLimit?: number;
  /** How long a request waits for a paused sandbox at most; the default is 60 s. Then 409. */
  readonly heldMs?: number;
  /** Whether a call to the agent must declare its version of the Connect protocol; the default is true. */
  readonly requireProtocolVersion?: boolean;
  /** A request has named a sandbox that runs, or that it may resume. */
  readonly onRouted?: (request: IncomingMessage) => void;
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
}

/**
 * Routes requests to sandboxes. Its methods are the listeners of a `node:http` server made with `edgeServerOptions`.
 */
export interface Edge {
  /** Whether a request is addressed to a sandbox, also when the address is malformed. */
  isSandboxRequest(request: IncomingMessage): boolean;
  /** The listener of `request` and `checkContinue`. It answers the request, from inside the sandbox where possible. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** The listener of `upgrade`. It passes on WebSockets, also in a stream of HTTP/2, and any other protocol that the server inside accepts. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** The requests and upgraded connections that are open now. */
  openStreams(): number;
  /** Resets every connection and stops listening to the directory. */
  close(): Promise<void>;
}

/** A request uses two file descriptors of the server, which all sandboxes share. */
const defaultConnectionLimit = 1000;
/** The requests for a few sandboxes: each uses one file descriptor, and one more when its sandbox runs. */
const defaultHeldLimit = 4000;
/** Clients wait for so long by default. */
const defaultHeldMs = 60_000;

/** Creates an edge for the sandboxes of the directory. It does not listen on a port. */
export const createEdge = (options: EdgeOptions): Edge => {
  const { directory, log, connectionLimit = defaultConnectionLimit, requireProtocolVersion = true } = options;
  const { heldLimit = defaultHeldLimit, heldMs = defaultHeldMs } = options;
  const rules: HostRules = { domain: options.domain, sharedHosts: options.sharedHosts ?? [] };
  const upstreams = createUpstreams();
  const requestHolder = createRequestHolder({
    directory,
    perSandbox: connectionLimit,
    inAll: heldLimit,
    waitMs: heldMs,
    onHeld: (request) => options.onRouted?.(request),
  });
  const failures = createFailureLog({ log, now: () => performance.now() });
  const stopListening = directory.onEnd((sandboxId, runId) => {
    upstreams.end(sandboxId, runId);
    failures.forget(sandboxId);
  });

  const serve = async (request: IncomingMessage, response: ServerResponse, change?: ProtocolChange) => {
    const client = clientOf(request);
    const target = admit(request, response, rules);
    if (target === undefined) return;
    const route =
      (await directory.find(target.sandboxId)) ??
      (await requestHolder.awake({ request, response, target, isUpgrade: change !== undefined }));
    if (route === 'answered') return;
    if (route === undefined) {
      sendNotFound(request, response, target);
      return;
    }
    if (client.destroyed) return;
    options.onRouted?.(request);
    const isForAgent = target.port === agentPort;
    const checked = isForAgent ? checkOrRefuse(request, response, route) : undefined;
    const passed = isForAgent
      ? undefined
      : passPortRequest(request, response, { target, ports: route.ports });
    if (checked === 'refused' || passed === 'answered') return;
    const run = upstreams.of(target, route);
    if (run.underWay() >= connectionLimit) {
      const message = `The sandbox has reached its limit of ${connectionLimit} connections`;
      sendError(request, response, { status: 429, message, target, connectionLimit });
      return;
    }
    const waiting = run.track(client);
    const release = (): void => waiting.done();
    // After an upgrade the run can send bytes as long as the connection lasts.
    (change === undefined ? response : client).once('close', release);
    forward({
      request,
      response,
      client,
      target,
      checked,
      passed,
      run,
      waiting,
      addsProtocolVersion: !requireProtocolVersion && lacksProtocolVersion(target, request),
      onFailure(error) {
        explain(error, { request, response, target, route, release }).catch((cause: unknown) =>
          fail(request, response, cause),
        );
      },
      ...(change === undefined
        ? {}
        : {
            onUpgrade(answer: IncomingMessage, upstream: Duplex, upstreamHead: Buffer) {
              const accept = () => acceptChange(answer, request, response);
              splice({ client, clientHead: change.takeEarly(), upstream, upstreamHead, accept });
            },
          }),
    });
  };

  /**
   * Answers a request that got no response from inside: the sandbox is gone, the port is closed, or the connection
   * broke.
   */
  const explain = async (
    error: Error,
    { request, response, target, route, release }: Failure,
  ): Promise<void> => {
    const now = await directory.find(target.sandboxId);
    if (now?.runId !== route.runId) {
      // This request has no response yet, so it gets a status; the other requests of that run are reset.
      release();
      upstreams.end(target.sandboxId, route.runId);
      sendNotFound(request, response, target);
      return;
    }
    const isClosed = isRefused(error);
    if (!isClosed) failures.note(target, error);
    sendError(request, response, {
      status: 502,
      message: 'The sandbox is running but port is not open',
      target,
      namesPort: true,
      ...(!isClosed && { detail: 'the connection closed before a response' }),
    });
  };

  const fail = (request: IncomingMessage, response: ServerResponse, cause: unknown): void => {
    log.warn('a request to a sandbox failed', { requestId: requestIdOf(request), error: cause });
    const body = toErrorBody(cause);
    if (!response.headersSent) response.setHeaders(new Headers(toErrorHeaders(cause)));
    sendJson(response, body.code, body);
  };

  return {
    isSandboxRequest: ({ headers }) => isSandboxAddress(headers, rules),
    handle(request, response) {
      serve(request, response).catch((cause: unknown) => fail(request, response, cause));
    },
    upgrade(request, socket, head) {
      // In a stream it is there already.
      const response = answerOf(request) ?? toResponse(request, socket as Socket);
      noteResponse(request, response);
      serve(request, response, readEarly(socket as Client, head)).catch((cause: unknown) =>
        fail(request, response, cause),
      );
    },
    openStreams: () => upstreams.underWay(),
    async close() {
      stopListening();
      requestHolder.close();
      upstreams.endAll();
    },
  };
};

/** Answers a request to the agent that is not authorised, in the agent's own words. */
const checkOrRefuse = (
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
): CheckedRequest | 'refused' => {
  try {
    return checkAgentRequest(request, route.agent);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    sendJson(response, error.status, toErrorBody(error), 'application/json');
    return 'refused';
  }
};

const sendNotFound = (request: IncomingMessage, response: ServerResponse, target: Target): void =>
  sendError(request, response, { status: 502, message: 'The sandbox was not found', target });

interface ProtocolChange {
  /** The bytes that the client sent after the head of its request. From here on the caller reads the connection. */
  takeEarly(): Buffer;
}

/** The maximum that a client may send before the server inside has accepted the new protocol. */
const maxEarlyBytes = 64 * 1024;

/**
 * Reads a connection that Node has detached. Node no longer reads it, and a connection without a reader does not
 * report that the client has disconnected.
 */
const readEarly = (socket: Client, head: Buffer): ProtocolChange => {
  const early = [head];
  let sizeBytes = head.length;
  const keep = (chunk: Buffer): void => {
    early.push(chunk);
    sizeBytes += chunk.length;
    if (sizeBytes > maxEarlyBytes) socket.destroy();
  };
  const leave = (): void => void socket.destroy();
  socket.on('data', keep).once('end', leave);
  return {
    takeEarly() {
      socket.off('data', keep).off('end', leave);
      return Buffer.concat(early);
    },
  };
};

const webSocketKeys: ReadonlySet<string> = new Set(['sec-websocket-accept']);

/** Writes the head of the answer of a server inside that accepts another protocol. A stream has 200 and no keys (RFC 8441). */
const acceptChange = (answer: IncomingMessage, request: IncomingMessage, response: ServerResponse): void => {
  if (streamOf(request) !== undefined) {
    response.writeHead(200, toForwardedHeaders(answer, webSocketKeys)).flushHeaders();
    return;
  }
  const client = request.socket;
  response.detachSocket(client);
  response.statusCode = answer.statusCode ?? 101;
  const headers = toForwardedHeaders(answer);
  headers.push('Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? '');
  client.write(toHead(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`, headers), 'latin1');
};

interface Failure {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  readonly route: Route;
  readonly release: () => void;
}

/** Writes a plain response to a connection that Node has detached because of its `Upgrade` header. */
const toResponse = (request: IncomingMessage, socket: Socket): ServerResponse => {
  const response = new ServerResponse(request);
  // The rest of the connection is not HTTP, or was not parsed as HTTP.
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once('finish', () => {
    response.detachSocket(socket);
    socket.destroySoon();
  });
  // The close that follows an error ends the exchange.
  socket.on('error', () => {});
  return response;
};
