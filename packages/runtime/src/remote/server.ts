import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import type { AddressedInstance, AddressedRuntime } from '../drivers/guest-socket.ts';
import { parseInstanceSpec } from '../drivers/instance-spec.ts';
import { isRuntimeError, RuntimeError, toRuntimeError } from '../error.ts';
import { readLines } from './lines.ts';
import {
  type InstanceDescription,
  type Message,
  maxErrorLength,
  maxRequestBytes,
  parseRequest,
  type Request,
  type Target,
} from './protocol.ts';
import { openSocketPath } from './socket-path.ts';

export interface RuntimeServer {
  /**
   * Stops listening, ends every connection, aborts what is under way and waits until that has cleaned up after itself.
   * The runtime stays open.
   */
  close(): Promise<void>;
}

/**
 * Offers a runtime to other processes of the same user, on a unix socket that only that user can open. A socket that
 * an earlier process left at the path is replaced. A client that says anything but a well-formed request is cut off.
 * `onError` hears of that, and of every failure whose cause the client is not told.
 */
export async function serveRuntime(
  runtime: AddressedRuntime,
  options: { socketPath: string; onError: (error: Error) => void },
): Promise<RuntimeServer> {
  const { socketPath, onError } = options;
  const sockets = new Set<Socket>();
  const underWay = new Set<Promise<void>>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', onError);
    serveConnection(runtime, socket, {
      onError,
      onAnswer: (answer) => {
        underWay.add(answer);
        void answer.finally(() => underWay.delete(answer));
      },
    });
  });
  await rm(socketPath, { force: true });
  const short = await openSocketPath(socketPath);
  const listening = once(server, 'listening');
  // The socket is made within the call to listen, with this mask: there is no moment when others could connect.
  const mask = process.umask(0o177);
  server.listen(short.path);
  process.umask(mask);
  try {
    await listening;
  } catch (error) {
    await short.close();
    throw error;
  }
  return {
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
      // Only now: closing the server removes the socket by this name.
      await short.close();
      await Promise.all(underWay);
    },
  };
}

function serveConnection(
  runtime: AddressedRuntime,
  socket: Socket,
  events: { onAnswer: (answer: Promise<void>) => void; onError: (error: Error) => void },
): void {
  const underWay = new Map<number, AbortController>();
  const unwatch: (() => void)[] = [];
  const send = (message: Message): void => {
    if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
  };

  const answer = async (request: Request): Promise<void> => {
    const controller = new AbortController();
    underWay.set(request.id, controller);
    try {
      send({ id: request.id, result: (await perform(request, controller.signal)) ?? null });
    } catch (error) {
      const failure = toRuntimeError(error, request.method);
      if (failure.code === 'internal' || failure.cause !== undefined) events.onError(failure);
      send({
        id: request.id,
        error: { code: failure.code, message: failure.message.slice(0, maxErrorLength) },
      });
    } finally {
      underWay.delete(request.id);
    }
  };

  const perform = async (request: Request, signal: AbortSignal): Promise<unknown> => {
    switch (request.method) {
      case 'describe':
        return { name: runtime.name, features: runtime.features };
      case 'create':
        return toDescription(await runtime.create(parseInstanceSpec(request.spec), { signal }));
      case 'get':
        return toDescription(await runtime.get(request.instance));
      case 'list':
        for await (const instance of runtime.list()) {
          signal.throwIfAborted();
          send({ id: request.id, item: toDescription(instance) });
        }
        return null;
      case 'listSnapshots':
        for await (const snapshot of runtime.snapshots.list()) {
          signal.throwIfAborted();
          send({ id: request.id, item: snapshot });
        }
        return null;
      case 'diff':
        for await (const difference of runtime.snapshots.diff(request.from, request.to, { signal })) {
          signal.throwIfAborted();
          send({ id: request.id, item: difference });
        }
        return null;
      case 'verifySnapshot':
        return runtime.snapshots.verify(request.snapshot);
      case 'deleteSnapshot':
        return runtime.snapshots.delete(request.snapshot);
      case 'cancel':
        underWay.get(request.request)?.abort();
        return null;
      case 'watch': {
        const { instance: id, runId } = request;
        const exit = (): void => send({ event: 'exit', instance: id, runId });
        try {
          const instance = await runtime.get(id);
          if (instance.runId === runId) unwatch.push(instance.onExit(exit));
          else exit();
        } catch (error) {
          if (!isRuntimeError(error, 'not_found')) throw error;
          exit();
        }
        return null;
      }
      default:
        return performOn(await getTarget(runtime, request), request, signal);
    }
  };

  readLines(socket, {
    maxBytes: maxRequestBytes,
    onLine: (line) => {
      try {
        events.onAnswer(answer(parseRequest(line)));
      } catch (error) {
        socket.destroy(error as Error);
      }
    },
  });
  socket.on('close', () => {
    for (const controller of underWay.values()) controller.abort();
    for (const stop of unwatch) stop();
  });
}

type OnInstance = Extract<Request, { method: 'state' | 'usage' | 'stop' | 'resume' | 'pause' | 'snapshot' }>;

async function performOn(
  instance: AddressedInstance,
  request: OnInstance,
  signal: AbortSignal,
): Promise<unknown> {
  switch (request.method) {
    case 'state':
      return instance.state();
    case 'usage':
      return instance.usage();
    case 'stop':
      return instance.stop();
    case 'resume':
      await instance.resume({ signal, ...(request.memory !== undefined && { memory: request.memory }) });
      return toDescription(instance);
    case 'pause':
      return instance.pause({ memory: request.memory });
    case 'snapshot':
      return instance.snapshot({
        id: request.snapshot,
        memory: request.memory,
        ephemeral: request.ephemeral,
      });
  }
}

async function getTarget(
  runtime: AddressedRuntime,
  { instance: id, birthId }: Target,
): Promise<AddressedInstance> {
  const instance = await runtime.get(id);
  if (instance.birthId !== birthId) throw new RuntimeError('not_found', `that ${id} is gone`);
  return instance;
}

const toDescription = ({ id, birthId, runId, sockets }: AddressedInstance): InstanceDescription => ({
  id,
  birthId,
  runId,
  sockets: { http: sockets.http, control: sockets.control },
});
