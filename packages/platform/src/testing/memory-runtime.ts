import { once } from 'node:events';
import { createServer } from 'node:http';
import { duplexPair } from 'node:stream';
import { json } from 'node:stream/consumers';
import {
  type Features,
  type Instance,
  type InstanceSpec,
  type InstanceState,
  type Runtime,
  RuntimeError,
} from '@skerry/runtime';

type Act = 'create' | 'pause' | 'resume' | 'init' | 'state' | 'snapshot' | 'stop';

/** What a test may look at, and make go wrong. */
export interface MemoryRuntime extends Runtime {
  /** Of each instance, by id. */
  readonly instances: Map<string, { state: InstanceState; runId: string; exit: () => void }>;
  /** What was done, as in `pause i1 filesystem`, and the bodies of what agents were told. */
  readonly log: string[];
  readonly inits: Record<string, unknown>[];
  /** The next act of this kind does nothing and rejects so. */
  fail(act: Act, error: Error): void;
  /** The next act of this kind gets through, but its answer is lost. */
  loseAnswer(act: 'pause' | 'resume' | 'snapshot'): void;
  /** The next act of this kind waits for the returned function. */
  hold(act: 'pause' | 'resume' | 'snapshot'): () => void;
}

/** The runtime's port over nothing but this process: states and runs are real, sandboxes are not. */
export const createMemoryRuntime = (pause: Features['pause']): MemoryRuntime => {
  const instances: MemoryRuntime['instances'] = new Map();
  const log: string[] = [];
  const inits: Record<string, unknown>[] = [];
  const failures = new Map<Act, Error>();
  const lost = new Set<Act>();
  const held = new Map<Act, Promise<void>>();
  const kept = new Set<string>();
  let runs = 0;

  const agent = createServer((request, response) => {
    if (request.url !== '/init') {
      // These agents have nothing to tell.
      response.writeHead(404).end();
      return;
    }
    void json(request).then((body) => {
      inits.push(body as Record<string, unknown>);
      const refusal = failures.get('init');
      failures.delete('init');
      response.writeHead(refusal === undefined ? 204 : 500).end(refusal?.message);
    });
  });

  const act = async (kind: Act, run: () => void): Promise<void> => {
    const wait = held.get(kind);
    held.delete(kind);
    await wait;
    const failure = failures.get(kind);
    failures.delete(kind);
    if (failure !== undefined) throw failure;
    run();
    if (lost.delete(kind)) throw new RuntimeError('unavailable', 'the answer was lost');
  };

  const toInstance = (id: string): Instance => {
    const found = instances.get(id);
    if (found === undefined) throw new RuntimeError('not_found', `no instance ${id}`);
    const listeners = new Set<() => void>();
    const { runId } = found;
    found.exit = () => {
      found.state = 'stopped';
      for (const listener of listeners) listener();
    };
    return {
      id,
      runId,
      state: async () => {
        await act('state', () => {});
        return instances.get(id)?.state ?? 'stopped';
      },
      connect: async () => duplexPair()[0],
      control: async () => {
        const [near, far] = duplexPair();
        agent.emit('connection', far);
        return near;
      },
      pause: async ({ memory }) => {
        if (found.state === 'paused') return;
        log.push(`pause ${id} ${memory ? 'memory' : 'filesystem'}`);
        await act('pause', () => {
          found.state = 'paused';
        });
      },
      resume: async ({ memory, signal } = {}) => {
        log.push(`resume ${id}${memory === undefined ? '' : ` memory: ${memory}`}`);
        await act('resume', () => {
          if (signal?.aborted) throw new RuntimeError('unavailable', 'the signal aborted');
          found.state = 'running';
          runs += 1;
          found.runId = `run${runs}`;
        });
      },
      snapshot: async ({ id: snapshot, memory }) => {
        log.push(`snapshot ${id} ${memory ? 'memory' : 'filesystem'}`);
        await act('snapshot', () => void kept.add(snapshot));
      },
      usage: async () => ({ cpuTimeMs: 0, memoryBytes: 0, cacheBytes: 0, diskBytes: 0, processCount: 0 }),
      stop: async () => {
        log.push(`stop ${id}`);
        await act('stop', () => {
          instances.delete(id);
        });
      },
      onExit: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
  };

  return {
    name: 'memory',
    features: {
      level: 'container',
      pause,
      snapshot: pause,
      network: false,
      limits: { cpu: false, memory: false, disk: false, processes: false },
    },
    instances,
    log,
    inits,
    fail: (kind, error) => failures.set(kind, error),
    loseAnswer: (kind) => lost.add(kind),
    hold: (kind) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(kind, promise);
      return resolve;
    },
    create: async ({ id }: InstanceSpec) => {
      await act('create', () => {
        runs += 1;
        instances.set(id, { state: 'running', runId: `run${runs}`, exit: () => {} });
      });
      return toInstance(id);
    },
    get: async (id) => toInstance(id),
    list: async function* () {
      for (const id of instances.keys()) yield toInstance(id);
    },
    snapshots: {
      list: async function* () {
        for (const id of kept) yield { id, sizeBytes: 1 };
      },
      verify: async () => [],
      // Takes as long as it is let.
      diff: (_from, _to, { signal } = {}) => ({
        [Symbol.asyncIterator]: () => ({
          next: async () => {
            if (signal?.aborted === false) await once(signal, 'abort');
            throw new RuntimeError('unavailable', 'the signal aborted');
          },
        }),
      }),
      delete: async (id) => {
        log.push(`delete snapshot ${id}`);
        kept.delete(id);
      },
    },
    close: async () => {},
  };
};
