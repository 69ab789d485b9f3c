import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createClient, type Transport } from '@connectrpc/connect';
import type { ConnectOptions } from '@skerry/contract/directory';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { createGuestConnections, type GuestConnections } from '../drivers/guest-connections.ts';
import {
  type AddressedInstance,
  type AddressedRuntime,
  connectGuest,
  connectGuestSocket,
} from '../drivers/guest-socket.ts';
import { isRuntimeError, RuntimeError } from '../error.ts';
import { RuntimeService } from '../gen/skerry/runtime/v1/runtime_pb.ts';
import { isInstanceId } from '../instance-id.ts';
import type { ExportedImage, SnapshotId } from '../runtime.ts';
import { openSocketPath } from '../socket-path.ts';
import { createBatchedCalls } from './batched-calls.ts';
import { callCancellable } from './cancellable-calls.ts';
import { fromConnectError } from './failure.ts';
import { createLink } from './link.ts';
import {
  type InstanceDescription,
  parseDifference,
  parseExportedImage,
  parseFeatures,
  parseInstance,
  parseState,
  parseStates,
  parseUsage,
  parseUsages,
  type Target,
  toOriginMessage,
  toSpecMessage,
} from './messages.ts';
import { createWatches, watchOver } from './watches.ts';

export interface RemoteRuntime extends AddressedRuntime {
  /**
   * The connection, for the other services of that process. Its calls reject with `RuntimeLostError` when it
   * ends.
   */
  readonly transport: Transport;
}

/**
 * Uses a runtime of another process over the unix socket where `serveRuntime` offers it. Streams to an agent do not
 * pass through that process: its responses contain the paths of the agent's sockets, and this process connects to them.
 *
 * When the connection ends, pending calls reject with `unavailable`, and the next call connects again. Resolves when
 * the other process has answered. Rejects with `unavailable` when it does not answer; it is not called again then.
 */
export const createRemoteRuntime = (options: {
  socketPath: string;
  signal?: AbortSignal | undefined;
}): Promise<RemoteRuntime> =>
  createRemote({ dial: () => dialSocket(options.socketPath), signal: options.signal });

/** How a stream to an instance of another process is opened. Each rejects as the method of `Instance` does. */
export interface GuestDial {
  connect(instance: InstanceDescription, port: number, options: ConnectOptions): Promise<Duplex>;
  control(instance: InstanceDescription, options: { signal?: AbortSignal | undefined }): Promise<Duplex>;
}

/** Dials agents on the same host, where their sockets are files. */
const dialLocalGuest: GuestDial = {
  connect: ({ sockets }, port, options) => connectGuest({ sockets, port, ...options }),
  control: ({ sockets }, { signal }) => connectGuestSocket({ path: sockets.control, signal }),
};

/** Uses a remote runtime over sockets that `dial` connects, otherwise as `createRemoteRuntime` does. */
export async function createRemote(options: {
  dial: () => Promise<Socket>;
  /** Default: the sockets of agents are on this host. */
  guests?: GuestDial;
  signal?: AbortSignal | undefined;
  /** Whether to reconnect at once when the connection ends. Default: for the next call, or to watch a run. */
  staysConnected?: boolean;
  /** Called with each connection that was made, and with its end. */
  onConnection?: (isConnected: boolean) => void;
  /** Called at the end of `close`. */
  onClose?: () => Promise<void>;
}): Promise<RemoteRuntime> {
  const { guests = dialLocalGuest, onConnection } = options;
  const watches = createWatches();
  const guestConnections = new Map<string, GuestConnections>();
  const link = createLink({
    dial: options.dial,
    onConnect: (transport) => watchOver(transport, watches),
    isWanted: () => options.staysConnected === true || watches.size > 0,
    ...(onConnection && { onConnection }),
  });
  const client = createClient(RuntimeService, link.transport);

  const cancel = async (call: string): Promise<boolean> => (await client.cancel({ call })).found;

  const measure = createBatchedCalls({
    one: (target) => ask(client.getUsage({ target }), parseUsage),
    many: async (targets) => parseUsages(await client.listUsage({ targets })),
  });
  const readState = createBatchedCalls({
    one: (target) => ask(client.getState({ target }), parseState),
    many: async (targets) => parseStates(await client.listStates({ targets })),
  });

  /** All handles of one instance share them. */
  const connectionsOf = (birthId: string): GuestConnections => {
    const found = guestConnections.get(birthId) ?? createGuestConnections();
    guestConnections.set(birthId, found);
    return found;
  };

  const exportImage = (
    origin: { case: 'target'; value: Target } | { case: 'snapshot'; value: SnapshotId },
    { path, signal }: { path: string; signal?: AbortSignal },
  ): Promise<ExportedImage> =>
    ask(
      callCancellable((call) => client.exportImage({ origin, path, call }), { cancel, signal }),
      parseExportedImage,
    );

  const toInstance = ({ id, birthId, sockets, ...first }: InstanceDescription): AddressedInstance => {
    const target = { instance: id, birthId };
    const connections = connectionsOf(birthId);
    let { runId, isolation } = first;
    const describe = (): InstanceDescription => ({ id, birthId, runId, isolation, sockets });
    return {
      id,
      birthId,
      get runId() {
        return runId;
      },
      get isolation() {
        return isolation;
      },
      sockets,
      state: () => ifGone(readState(target), 'stopped'),
      connect: (port, options = {}) => connections.open(() => guests.connect(describe(), port, options)),
      control: ({ signal } = {}) => connections.open(() => guests.control(describe(), { signal })),
      pause: async ({ memory }) => {
        const act = () => ask(client.pause({ target, memory }), toNothing);
        await (memory && features.levels[isolation]?.pause.memory ? connections.interrupt(act) : act());
      },
      resume: async ({ memory, signal } = {}) => {
        const request = { target, ...(memory !== undefined && { memory }) };
        const resuming = callCancellable((call) => client.resume({ ...request, call }), { cancel, signal });
        ({ runId, isolation } = await ask(resuming, parseInstance));
        await learn(isolation);
      },
      snapshot: async ({ id: snapshot, memory, ...how }) => {
        const take = () => ask(client.snapshot({ target, snapshot, memory, ...how }), toNothing);
        await (memory && features.levels[isolation]?.snapshot.memory ? connections.interrupt(take) : take());
      },
      exportImage: (how) => exportImage({ case: 'target', value: target }, how),
      setNetwork: (policy) => ask(client.setNetwork({ target, network: JSON.stringify(policy) }), toNothing),
      usage: () => measure(target),
      stop: async () => {
        await ifGone(ask(client.stop({ target }), toNothing), undefined);
        guestConnections.delete(birthId);
      },
      onExit: (listener) => {
        const run = { instance: id, runId };
        const heard = (): void => listener();
        watches.add(run, heard);
        void link.connect();
        return () => watches.remove(run, heard);
      },
    };
  };

  options.signal?.throwIfAborted();
  const { name, features } = await ask(client.describe({}), (answer) => ({
    name: answer.name,
    features: parseFeatures(answer),
  })).catch(async (error: unknown): Promise<never> => {
    // The caller gets no handle to close this link, so it would reconnect forever.
    await link.close();
    throw error;
  });
  /** Reads the features anew when what is kept at a level was only expected. */
  const learn = async (level: IsolationLevel): Promise<void> => {
    if (!features.levels[level]?.isExpected) return;
    // The sandbox exists, whatever becomes of this call: the next one reads them.
    await ask(client.describe({}), (answer) => Object.assign(features, parseFeatures(answer))).catch(
      () => undefined,
    );
  };
  return {
    name,
    features,
    transport: link.transport,
    create: async (spec, { signal } = {}) => {
      if (signal?.aborted) throw new RuntimeError('unavailable', 'aborted', { cause: signal.reason });
      const message = toSpecMessage(spec);
      const creating = callCancellable((call) => client.create({ spec: message, call }), { cancel, signal });
      const made = await ask(creating, parseInstance);
      await learn(made.isolation);
      return toInstance(made);
    },
    get: async (id) => {
      if (!isInstanceId(id)) throw new RuntimeError('not_found', 'no sandbox has such an id');
      return toInstance(await ask(client.get({ instance: id }), parseInstance));
    },
    list: () =>
      readAll(
        (signal) => client.list({}, { signal }),
        (message) => toInstance(parseInstance(message)),
      ),
    snapshots: {
      list: () =>
        readAll(
          (signal) => client.listSnapshots({}, { signal }),
          ({ snapshot, sizeBytes }) => ({ id: snapshot, sizeBytes: Number(sizeBytes) }),
        ),
      diff: (from, to, { signal: caller } = {}) =>
        readAll(
          (signal) => client.diff({ from: toOriginMessage(from), to: toOriginMessage(to) }, { signal }),
          parseDifference,
          caller,
        ),
      verify: async (snapshot) => {
        const problems: string[] = [];
        const told = readAll((signal) => client.verifySnapshot({ snapshot }, { signal }), toProblem);
        for await (const problem of told) problems.push(problem);
        return problems;
      },
      exportImage: (snapshot, how) => exportImage({ case: 'snapshot', value: snapshot }, how),
      delete: (snapshot) => ask(client.deleteSnapshot({ snapshot }), toNothing),
    },
    close: async () => {
      await link.close();
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
    // The other process may be killed before the caller has added its listener, and an error without one ends this process.
    socket.on('error', () => undefined);
    return socket;
  } finally {
    await short.close();
  }
}

const toNothing = (): void => undefined;
const toProblem = ({ problem }: { problem: string }): string => problem;

/** @throws RuntimeError */
async function ask<Answer, T>(answer: Promise<Answer>, parse: (answer: Answer) => T): Promise<T> {
  try {
    return parse(await answer);
  } catch (error) {
    throw fromConnectError(error);
  }
}

/** Cancels the call when the loop over it ends early, or when the signal aborts. */
async function* readAll<Message, T>(
  open: (signal: AbortSignal) => AsyncIterable<Message>,
  parse: (message: Message) => T,
  signal?: AbortSignal,
): AsyncGenerator<T> {
  const left = new AbortController();
  try {
    for await (const message of open(signal ? AbortSignal.any([signal, left.signal]) : left.signal))
      yield parse(message);
  } catch (error) {
    throw fromConnectError(error);
  } finally {
    left.abort();
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
