import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Directory, Route } from '@skerry/contract/directory';
import { toErrorBody } from '@skerry/contract/error';
import { requestIdOf } from '@skerry/contract/request-id';
import { admit } from './admission.ts';
import { sendError, sendJson } from './error-page.ts';
import { createFailureLog } from './failure-log.ts';
import { type HostRules, parseTarget } from './host.ts';
import { lacksProtocolVersion } from './protocol-version.ts';
import { forward } from './proxy.ts';
import { splice } from './splice.ts';
import type { Target } from './target.ts';
import { createUpstreams, isRefused } from './upstream.ts';

export interface EdgeOptions {
  readonly directory: Directory;
  /** The domain under which sandboxes have their host names. */
  readonly domain: string;
  /** Further host names on which the routing headers count. */
  readonly sharedHosts?: readonly string[];
  /** The most requests and changed connections that one sandbox has under way; 1000 when absent. More get a 429. */
  readonly connectionLimit?: number;
  /** Whether a call of the agent must say which version of the Connect protocol it speaks; true when absent. */
  readonly requireProtocolVersion?: boolean;
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
}

/** Brings requests to sandboxes. Its methods are the listeners of a `node:http` server made with `edgeServerOptions`. */
export interface Edge {
  /** Whether a request is meant for a sandbox, also when it fails to name one properly. */
  isSandboxRequest(request: IncomingMessage): boolean;
  /** For `request` and `checkContinue`: answers the request, from inside the sandbox where it can. */
  handle(request: IncomingMessage, response: ServerResponse): void;
  /** For `upgrade`: WebSocket and any other protocol that the server inside agrees to. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Resets every connection and stops listening to the directory. */
  close(): Promise<void>;
}

/** Each takes two file descriptors of the server, which all sandboxes share. */
const defaultConnectionLimit = 1000;

/** Makes an edge over the sandboxes that the directory knows. It listens on nothing by itself. */
export const createEdge = (options: EdgeOptions): Edge => {
  const { directory, log, connectionLimit = defaultConnectionLimit, requireProtocolVersion = true } = options;
  const rules: HostRules = { domain: options.domain, sharedHosts: options.sharedHosts ?? [] };
  const upstreams = createUpstreams();
  const failures = createFailureLog({ log, now: () => performance.now() });
  const stopListening = directory.onEnd((sandboxId, runId) => {
    upstreams.end(sandboxId, runId);
    failures.forget(sandboxId);
  });

  const serve = async (request: IncomingMessage, response: ServerResponse, change?: ProtocolChange) => {
    const client = request.socket;
    const target = admit(request, response, rules);
    if (target === undefined) return;
    const route = await directory.find(target.sandboxId);
    if (route === undefined) {
      sendNotFound(request, response, target);
      return;
    }
    if (client.destroyed) return;
    const run = upstreams.of(target, route);
    if (run.underWay() >= connectionLimit) {
      const message = `The sandbox has ${connectionLimit} connections already`;
      sendError(request, response, { status: 429, message, target, connectionLimit });
      return;
    }
    const release = run.track(client);
    // After a change of protocol the run can answer as long as the connection lasts.
    (change === undefined ? response : client).once('close', release);
    forward({
      request,
      response,
      client,
      target,
      run,
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
              response.detachSocket(client);
              splice({ client, clientHead: change.takeEarly(), upstream, upstreamHead, answer });
            },
          }),
    });
  };

  /** Answers a request that nothing inside answered: the sandbox is gone, the port is closed, or the server broke off. */
  const explain = async (
    error: Error,
    { request, response, target, route, release }: Failure,
  ): Promise<void> => {
    const now = await directory.find(target.sandboxId);
    if (now?.runId !== route.runId) {
      // This request has no answer yet, so it can be told instead of reset like the others of that run.
      release();
      upstreams.end(target.sandboxId, route.runId);
      sendNotFound(request, response, target);
      return;
    }
    const message = isRefused(error)
      ? 'The sandbox is running but port is not open'
      : 'The sandbox is running but the connection broke before an answer';
    if (!isRefused(error)) failures.note(target, error);
    sendError(request, response, { status: 502, message, target, namesPort: true });
  };

  const fail = (request: IncomingMessage, response: ServerResponse, cause: unknown): void => {
    log.warn('a request to a sandbox failed', { requestId: requestIdOf(request), error: cause });
    const body = toErrorBody(cause);
    sendJson(response, body.code, body);
  };

  return {
    isSandboxRequest(request) {
      try {
        return parseTarget(request.headers, rules) !== undefined;
      } catch {
        // Meant for a sandbox but malformed: `handle` says what is wrong.
        return true;
      }
    },
    handle(request, response) {
      serve(request, response).catch((cause: unknown) => fail(request, response, cause));
    },
    upgrade(request, socket, head) {
      const response = toResponse(request, socket as Socket);
      serve(request, response, readEarly(socket as Socket, head)).catch((cause: unknown) =>
        fail(request, response, cause),
      );
    },
    async close() {
      stopListening();
      upstreams.endAll();
    },
  };
};

const sendNotFound = (request: IncomingMessage, response: ServerResponse, target: Target): void =>
  sendError(request, response, { status: 502, message: 'The sandbox was not found', target });

interface ProtocolChange {
  /** What the client has sent behind the head of its request. From here on the caller reads the connection. */
  takeEarly(): Buffer;
}

/** The most that a client may send before the server inside has agreed to the new protocol. */
const maxEarlyBytes = 64 * 1024;

/**
 * Reads a connection that Node has handed over: nobody else does until there is an answer, and of a connection that is not
 * read nobody learns that the client has left.
 */
const readEarly = (socket: Socket, head: Buffer): ProtocolChange => {
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

interface Failure {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: Target;
  readonly route: Route;
  readonly release: () => void;
}

/** Lets a plain answer be written to a connection that Node has handed over because of its `Upgrade` header. */
const toResponse = (request: IncomingMessage, socket: Socket): ServerResponse => {
  const response = new ServerResponse(request);
  // The rest of the connection is not HTTP, or was never read as such.
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
