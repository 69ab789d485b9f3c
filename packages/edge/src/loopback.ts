import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { abortable } from '@skerry/contract/abortable';
import type { AgentKeys, Directory, PortAccess } from '@skerry/contract/directory';
import { toReadOptions } from '@skerry/contract/read-options';
import { createEdge, type Edge, type EdgeOptions } from './edge.ts';
import { edgeServerOptions } from './server-options.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => unknown;

export interface LoopbackOptions
  extends Pick<EdgeOptions, 'connectionLimit' | 'heldLimit' | 'heldMs' | 'requireProtocolVersion'> {
  /** The token of every sandbox. Default: none is required. */
  readonly accessToken?: string;
  /** How the ports of every sandbox are reached. Default: by everyone. */
  readonly ports?: PortAccess;
}

/** Sandboxes whose ports are servers of this process, and a listening edge in front of them. For tests. */
export interface Loopback extends AsyncDisposable {
  readonly edge: Edge;
  readonly server: Server;
  readonly port: number;
  /** Connections that the edge opened to ports inside, by sandbox. */
  readonly dialled: { sandboxId: string; runId: string; port: number }[];
  /** How often a port without a server refused the edge. */
  refusals(): number;
  /** What the edge has logged, each with its fields. */
  readonly warnings: Record<string, unknown>[];
  /** Starts or restarts a sandbox without servers, and ends its previous run. */
  start(sandboxId: string): void;
  /** Pauses a sandbox with what a request does to resume it; `start` or `end` ends that. */
  pause(sandboxId: string, wake: () => Promise<void>): void;
  /** Listens on a port of a sandbox. */
  serve(sandboxId: string, port: number, listener: Listener): Promise<Server>;
  serveTcp(sandboxId: string, port: number, listener: (socket: Socket) => void): Promise<TcpServer>;
  /** Ends a sandbox as a kill does: the directory no longer finds it and its connections are reset. */
  end(sandboxId: string): void;
}

class RefusedError extends Error {
  readonly code = 'refused';
}

export const startLoopback = async ({
  accessToken,
  ports: access = {},
  ...options
}: LoopbackOptions = {}): Promise<Loopback> => {
  const sandboxes = new Map<string, { runId: string; ports: Map<number, number> }>();
  const listeners = new Set<(sandboxId: string, runId: string) => void>();
  const dormant = new Map<string, () => Promise<void>>();
  const servers: (Server | TcpServer)[] = [];
  const dialled: Loopback['dialled'] = [];
  const warnings: Loopback['warnings'] = [];
  let runs = 0;
  let refusals = 0;

  const toKeys = (runId: string): AgentKeys => ({
    ...(accessToken !== undefined && { accessToken }),
    edgeNonce: `nonce-of-${runId}`,
  });
  const directory: Directory = {
    async find(sandboxId) {
      const sandbox = sandboxes.get(sandboxId);
      if (sandbox === undefined) return undefined;
      const { runId, ports } = sandbox;
      return {
        runId,
        agent: toKeys(runId),
        ports: access,
        async connect(port, { reader } = {}) {
          const actual = ports.get(port);
          if (actual === undefined) {
            refusals += 1;
            throw new RefusedError(`no server listens on ${port}`);
          }
          const socket: Socket = connect({
            port: actual,
            host: '127.0.0.1',
            ...toReadOptions(reader, () => socket),
          });
          await once(socket, 'connect');
          dialled.push({ sandboxId, runId, port });
          return socket;
        },
      };
    },
    async findDormant(sandboxId) {
      const wake = dormant.get(sandboxId);
      if (wake === undefined) return undefined;
      return {
        ...(accessToken !== undefined && { accessToken }),
        ports: access,
        wake: (signal) => abortable(wake(), signal),
      };
    },
    onEnd(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };

  const edge = createEdge({
    directory,
    domain: 'example.test',
    ...options,
    sharedHosts: ['shared.test'],
    log: { warn: (message, fields) => warnings.push({ message, ...fields }) },
  });
  const server = createServer(edgeServerOptions, (request, response) => edge.handle(request, response));
  server.on('checkContinue', (request, response) => edge.handle(request, response));
  server.on('upgrade', (request, socket, head) => edge.upgrade(request, socket, head));
  const port = await listen(server);

  const end = (sandboxId: string): void => {
    const runId = sandboxes.get(sandboxId)?.runId;
    sandboxes.delete(sandboxId);
    dormant.delete(sandboxId);
    if (runId !== undefined) for (const listener of listeners) listener(sandboxId, runId);
  };
  const add = async <S extends Server | TcpServer>(
    sandboxId: string,
    inner: number,
    inside: S,
  ): Promise<S> => {
    servers.push(inside);
    const actual = await listen(inside);
    sandboxes.get(sandboxId)?.ports.set(inner, actual);
    return inside;
  };
  return {
    edge,
    server,
    port,
    dialled,
    refusals: () => refusals,
    warnings,
    start(sandboxId) {
      end(sandboxId);
      sandboxes.set(sandboxId, { runId: `r${++runs}`, ports: new Map() });
    },
    pause(sandboxId, wake) {
      end(sandboxId);
      dormant.set(sandboxId, wake);
    },
    serve: (sandboxId, inner, listener) =>
      add(
        sandboxId,
        inner,
        createServer((request, response) => void listener(request, response)),
      ),
    serveTcp: (sandboxId, inner, listener) => add(sandboxId, inner, createTcpServer(listener)),
    end,
    async [Symbol.asyncDispose]() {
      await edge.close();
      server.closeAllConnections();
      for (const each of [server, ...servers]) {
        if ('closeAllConnections' in each) each.closeAllConnections();
        each.close();
      }
    },
  };
};

const listen = async (server: Server | TcpServer): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};
