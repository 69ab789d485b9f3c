import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { createSerialQueue } from '../../concurrency/serial-queue.ts';
import { RuntimeError, toRuntimeError } from '../../error.ts';
import type { Features, InstanceState, SnapshotId } from '../../runtime.ts';
import { type AddressedInstance, connectGuest, connectGuestSocket } from '../guest-socket.ts';
import { type AgentSockets, openAgentSockets } from './agent-sockets.ts';

export interface MemorySnapshot {
  readonly rootfs: string;
  readonly memory: boolean;
  readonly ephemeral: boolean;
  readonly isolation: IsolationLevel;
}

export interface MemoryInstance extends AddressedInstance {
  readonly rootfs: string;
  /** Begins the first run. */
  start(): Promise<void>;
  /** Ends the run, as the death of the agent does. */
  crash(): void;
}

interface Run {
  readonly id: string;
  readonly agent: AgentSockets;
  /** Resolves when the run is over. */
  readonly over: PromiseWithResolvers<void>;
}

export const createMemoryInstance = (options: {
  id: string;
  rootfs: string;
  folder: string;
  isolation: IsolationLevel;
  /** Returns the level of the next run of what had this one. Throws `unsupported`. */
  raiseLevel: (own: IsolationLevel, kept: { memory: boolean }) => IsolationLevel;
  features: Features;
  /** The snapshots of all instances. */
  snapshots: Map<SnapshotId, MemorySnapshot>;
  agent: ((id: string, socket: 'http' | 'control') => RequestListener) | undefined;
  nextRunId: () => string;
  onStop: () => void;
}): MemoryInstance => {
  const { id, rootfs, folder, features, snapshots, agent = () => answerNothing } = options;
  const sockets = { http: join(folder, 'http.sock'), control: join(folder, 'control.sock') };
  let state: InstanceState = 'stopped';
  let run: Run | undefined;
  let { isolation } = options;
  let keptMemory = false;
  const { run: inTurn } = createSerialQueue();

  const begin = async (): Promise<void> => {
    const listeners = { http: agent(id, 'http'), control: agent(id, 'control') };
    const opened = await openAgentSockets(sockets, listeners);
    run = { id: options.nextRunId(), agent: opened, over: Promise.withResolvers() };
    state = 'running';
  };

  const end = async (next: InstanceState): Promise<void> => {
    state = next;
    await run?.agent.close();
    run?.over.resolve();
  };

  const requireAlive = (): void => {
    if (state === 'stopped') throw new RuntimeError('unavailable', `sandbox ${id} has ended`);
  };

  const requireFeature = (kind: 'pause' | 'snapshot', memory: boolean): void => {
    if (features[kind][memory ? 'memory' : 'filesystem']) return;
    const what = memory ? 'memory' : 'files';
    throw new RuntimeError('unsupported', `this runtime is configured not to keep ${what} in a ${kind}`);
  };

  return {
    id,
    get isolation() {
      return isolation;
    },
    rootfs,
    birthId: randomUUID(),
    sockets,
    get runId() {
      return run?.id ?? '';
    },
    start: () => inTurn(begin),
    crash: () => void inTurn(() => end('stopped')),
    state: async () => state,
    connect: (port, connectOptions = {}) => connectGuest({ sockets, port, ...connectOptions }),
    control: ({ signal } = {}) => connectGuestSocket({ path: sockets.control, signal }),
    pause: async ({ memory }) => {
      requireFeature('pause', memory);
      await inTurn(async () => {
        if (state === 'paused') return;
        requireAlive();
        keptMemory = memory;
        await end('paused');
      });
    },
    resume: async ({ memory, signal } = {}) => {
      const { pause } = features;
      if (!pause.memory && !pause.filesystem) requireFeature('pause', false);
      await inTurn(async () => {
        if (state === 'running') return;
        requireAlive();
        if (memory === true && !keptMemory)
          throw new RuntimeError('unsupported', `sandbox ${id} was paused without its memory`);
        if (signal?.aborted)
          throw new RuntimeError('unavailable', 'the resume was aborted', { cause: signal.reason });
        isolation = options.raiseLevel(isolation, { memory: keptMemory && memory !== false });
        await begin().catch((error: unknown) => {
          throw toRuntimeError(error, `resuming sandbox ${id}`);
        });
      });
    },
    snapshot: async ({ id: snapshotId, memory, ephemeral = false }) => {
      requireFeature('snapshot', memory);
      await inTurn(async () => {
        requireAlive();
        if (memory && state === 'paused' && !keptMemory)
          throw new RuntimeError('unsupported', `sandbox ${id} was paused without its memory`);
        if (snapshots.has(snapshotId))
          throw new RuntimeError('already_exists', `snapshot ${snapshotId} exists already`);
        if (memory) run?.agent.interrupt();
        snapshots.set(snapshotId, { rootfs, memory, ephemeral, isolation });
      });
    },
    exportImage: storesNoFiles,
    setNetwork: async () => {
      throw new RuntimeError('unsupported', 'instances of this runtime have no network');
    },
    usage: async () => ({
      cpuTimeMs: 0,
      memoryBytes: 0,
      cacheBytes: 0,
      diskBytes: 0,
      freeDiskBytes: 0,
      processCount: 0,
    }),
    stop: () =>
      inTurn(async () => {
        await end('stopped');
        await rm(folder, { recursive: true, force: true });
        options.onStop();
      }),
    onExit: (listener) => {
      let isListening = true;
      void (run?.over.promise ?? Promise.resolve()).then(() => {
        if (isListening) listener();
      });
      return () => {
        isListening = false;
      };
    },
  };
};

/** Rejects with `unsupported`. */
export const storesNoFiles = async (): Promise<never> => {
  throw new RuntimeError('unsupported', 'this runtime stores no files');
};

const answerNothing: RequestListener = (_request, response) => void response.writeHead(204).end();
