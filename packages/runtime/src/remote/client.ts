import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { createGuestConnections, type GuestConnections } from '../drivers/guest-connections.ts';
import {
  type AddressedInstance,
  type AddressedRuntime,
  connectGuest,
  connectGuestSocket,
} from '../drivers/guest-socket.ts';
import { isInstanceId } from '../drivers/instance-spec.ts';
import { isRuntimeError, RuntimeError, RuntimeLostError } from '../error.ts';
import type { Difference, SnapshotInfo } from '../runtime.ts';
import { type CallOptions, type Connection, createConnection, UnsentError } from './connection.ts';
import type { InstanceDescription, Item, Method, Params, Result } from './protocol.ts';
import { openSocketPath } from './socket-path.ts';
import { createWatches } from './watches.ts';

/**
 * A runtime that another process holds, over the unix socket where `serveRuntime` offers it. Streams to an agent do
 * not pass through that process: its answers say where the agent's sockets are, and this one connects by itself.
 *
 * When the connection ends, calls under way reject with `unavailable` and the next one connects again. Resolves when
 * the other side has answered; rejects with `unavailable` when it does not, and then connects no more.
 */
export const createRemoteRuntime = (options: {
  socketPath: string;
  signal?: AbortSignal | undefined;
}): Promise<AddressedRuntime> =>
  createRemote({ dial: () => dialSocket(options.socketPath), signal: options.signal });

/** As `createRemoteRuntime`, with another way to get a connected socket. */
export async function createRemote(options: {
  dial: () => Promise<Socket>;
  signal?: AbortSignal | undefined;
  /** Whether a connection that ended is made again at once, and not only for the next call or to hear of the end of a run. */
  staysConnected?: boolean;
  /** Called at the end of `close`. */
  onClose?: () => Promise<void>;
}): Promise<AddressedRuntime> {
  const watches = createWatches();
  const guestConnections = new Map<string, GuestConnections>();
  let connection: Promise<Connection> | undefined;
  let isClosed = false;

  const open = async (): Promise<Connection> => {
    const socket = await options.dial();
    // Nobody has listened until now.
    if (socket.closed) throw new Error('the other side has ended');
    const made = createConnection(socket, {
      onExit: watches.tell,
      onClose: () => {
        connection = undefined;
        void reconnect();
      },
    });
    for (const run of watches.runs()) watch(made, run);
    return made;
  };

  const acquire = (): Promise<Connection> => {
    if (isClosed) return Promise.reject(new RuntimeError('unavailable', 'the runtime is closed'));
    connection ??= open().catch((error: unknown) => {
      connection = undefined;
      throw new RuntimeLostError('the runtime cannot be reached', { cause: error });
    });
    return connection;
  };

  /** Those who wait for the end of a run make no call that would connect again. */
  const reconnect = async (): Promise<void> => {
    const isWanted = (): boolean => !isClosed && (options.staysConnected || watches.runs().length > 0);
    for (let delayMs = 50; isWanted(); delayMs = Math.min(2 * delayMs, 5_000)) {
      try {
        await acquire();
        return;
      } catch {
        // Told to those who call; here it only means: later.
        await setTimeout(delayMs, undefined, { ref: false });
      }
    }
  };

  const watch = (on: Connection, run: { instance: string; runId: string }): void => {
    // When this fails the connection has ended, and the next one watches again.
    on.call('watch', run).catch(() => undefined);
  };

  const call = async <M extends Method>(
    method: M,
    params: Params<M>,
    callOptions?: CallOptions,
  ): Promise<Result<M>> => {
    try {
      return await (await acquire()).call(method, params, callOptions);
    } catch (error) {
      if (!(error instanceof UnsentError)) throw error;
    }
    // The other side had ended, and this one had not seen it yet.
    return (await acquire()).call(method, params, callOptions);
  };

  const collect = async <T extends Item>(
    method: 'list' | 'listSnapshots' | 'diff',
    params: Params<typeof method>,
    signal?: AbortSignal,
  ): Promise<T[]> => {
    const found: T[] = [];
    await call(method, params, { signal, onItem: (item) => void found.push(item as T) });
    return found;
  };

  /** Of all handles of one instance together. */
  const connectionsOf = (birthId: string): GuestConnections => {
    const found = guestConnections.get(birthId) ?? createGuestConnections();
    guestConnections.set(birthId, found);
    return found;
  };

  const toInstance = ({ id, birthId, sockets, ...first }: InstanceDescription): AddressedInstance => {
    const target = { instance: id, birthId };
    const connections = connectionsOf(birthId);
    let { runId } = first;
    return {
      id,
      birthId,
      get runId() {
        return runId;
      },
      sockets,
      state: () => ifGone(call('state', target), 'stopped'),
      connect: (port, options = {}) => connections.open(() => connectGuest({ sockets, port, ...options })),
      control: ({ signal } = {}) =>
        connections.open(() => connectGuestSocket({ path: sockets.control, signal })),
      pause: async ({ memory }) => {
        const act = () => call('pause', { ...target, memory });
        await (memory && features.pause.memory ? connections.interrupt(act) : act());
      },
      resume: async ({ memory, signal } = {}) => {
        const params = { ...target, ...(memory !== undefined && { memory }) };
        ({ runId } = await call('resume', params, { signal }));
      },
      snapshot: async ({ id: snapshot, memory, ephemeral = false }) => {
        const take = () => call('snapshot', { ...target, snapshot, memory, ephemeral });
        await (memory && features.snapshot.memory ? connections.interrupt(take) : take());
      },
      usage: () => call('usage', target),
      stop: async () => {
        await ifGone(call('stop', target), null);
        guestConnections.delete(birthId);
      },
      onExit: (listener) => {
        const run = { instance: id, runId };
        const heard = (): void => listener();
        if (watches.add(id, run.runId, heard)) {
          if (connection)
            void connection.then(
              (on) => watch(on, run),
              () => undefined,
            );
          else void reconnect();
        }
        return () => watches.remove(id, run.runId, heard);
      },
    };
  };

  const disconnect = async (): Promise<void> => {
    const last = connection;
    isClosed = true;
    // A connection that could not be made has told its callers, and there is nothing of it to close.
    (await last?.catch(() => undefined))?.close();
  };

  options.signal?.throwIfAborted();
  const { name, features } = await call('describe', {}).catch(async (error: unknown): Promise<never> => {
    // Nothing would ever close it: it would be made again and again.
    await disconnect();
    throw error;
  });
  return {
    name,
    features,
    create: async (spec, { signal } = {}) => {
      if (signal?.aborted) throw new RuntimeError('unavailable', 'aborted', { cause: signal.reason });
      return toInstance(await call('create', { spec }, { signal }));
    },
    get: async (id) => {
      if (!isInstanceId(id)) throw new RuntimeError('not_found', 'no sandbox has such an id');
      return toInstance(await call('get', { instance: id }));
    },
    async *list() {
      for (const description of await collect<InstanceDescription>('list', {})) yield toInstance(description);
    },
    snapshots: {
      async *list() {
        yield* await collect<SnapshotInfo>('listSnapshots', {});
      },
      async *diff(from, to, { signal } = {}) {
        yield* await collect<Difference>('diff', { from, to }, signal);
      },
      verify: (snapshot) => call('verifySnapshot', { snapshot }),
      delete: async (snapshot) => void (await call('deleteSnapshot', { snapshot })),
    },
    close: async () => {
      await disconnect();
      await options.onClose?.();
    },
  };
}

/** Connects to the socket that `serveRuntime` listens on. */
export async function dialSocket(socketPath: string): Promise<Socket> {
  const short = await openSocketPath(socketPath);
  try {
    const socket = connect(short.path);
    await once(socket, 'connect');
    // The other side may be killed before whoever asked for the socket listens.
    socket.on('error', () => undefined);
    return socket;
  } finally {
    await short.close();
  }
}

async function ifGone<T>(reply: Promise<T>, instead: T): Promise<T> {
  try {
    return await reply;
  } catch (error) {
    if (isRuntimeError(error, 'not_found')) return instead;
    throw error;
  }
}
