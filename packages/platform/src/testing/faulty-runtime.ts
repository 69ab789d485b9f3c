import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { json } from 'node:stream/consumers';
import { type Features, type Instance, type Runtime, RuntimeError } from '@skerry/runtime';
import { createMemory } from '@skerry/runtime/memory';
import { answerProcessStart, isProcessStart } from './process-agent.ts';

type Held = 'pause' | 'resume' | 'snapshot' | 'copy' | 'network';
type Act = 'create' | 'get' | 'pause' | 'resume' | 'init' | 'state' | 'snapshot' | 'network' | 'stop';

/** The memory driver with a record of its calls, which a test can make fail. */
export interface FaultyRuntime extends Runtime {
  /** The ids of the existing sandboxes and snapshots. */
  readonly instances: ReadonlySet<string>;
  readonly snapshotIds: ReadonlySet<string>;
  /** The calls so far, as in `pause i1 filesystem`, and the bodies that agents received at `/init`. */
  readonly log: string[];
  readonly inits: Record<string, unknown>[];
  /** The next call of this kind does nothing and rejects with this error; for `init` the agent answers 500 with its message. */
  fail(act: Act, error: Error): void;
  /** The next call of this kind succeeds, but its response is lost. */
  loseAnswer(act: 'create' | 'pause' | 'resume' | 'snapshot' | 'stop'): void;
  /** The next call of this kind waits for the returned function; "copy" is the part of a snapshot after its capture. */
  hold(act: Held): () => void;
  /** Ends the run of a sandbox, as the death of its agent does. */
  crash(id: string): void;
  /** Removes a sandbox without a call of the runtime. */
  vanish(id: string): Promise<void>;
}

export const createFaultyRuntime = ({
  dataDir,
  pause,
}: {
  dataDir: string;
  pause: Features['pause'];
}): FaultyRuntime => {
  const log: string[] = [];
  const inits: Record<string, unknown>[] = [];
  const instances = new Set<string>();
  const snapshotIds = new Set<string>();
  const failures = new Map<Act, Error>();
  const lost = new Set<Act>();
  const held = new Map<Act | Held, Promise<void>>();

  const takeFailure = (kind: Act): Error | undefined => {
    const failure = failures.get(kind);
    failures.delete(kind);
    return failure;
  };

  const agent: RequestListener = (request, response) => {
    if (isProcessStart(request)) {
      answerProcessStart(request, response);
      return;
    }
    if (request.url !== '/init') {
      // These agents have no log entries.
      response.writeHead(404).end();
      return;
    }
    void json(request).then((body) => {
      inits.push(body as Record<string, unknown>);
      const refusal = takeFailure('init');
      response.writeHead(refusal === undefined ? 204 : 500).end(refusal?.message);
    });
  };
  const memory = createMemory({
    dataDir,
    agent: () => agent,
    keeps: { pause },
    levels: ['container', 'gvisor'],
  });

  const released = (kind: Act | Held): Promise<void> | undefined => {
    const wait = held.get(kind);
    held.delete(kind);
    return wait;
  };

  const act = async <T>(kind: Act, run: () => Promise<T>): Promise<T> => {
    await released(kind);
    const failure = takeFailure(kind);
    if (failure !== undefined) throw failure;
    const result = await run();
    if (lost.delete(kind)) throw new RuntimeError('unavailable', 'the response was lost');
    return result;
  };

  const vanish = async (id: string): Promise<void> => {
    await (await memory.get(id)).stop();
    instances.delete(id);
  };

  const wrap = (inner: Instance): Instance => {
    const { id } = inner;
    const acts: Partial<Instance> = {
      state: () => act('state', () => inner.state()),
      pause: async (options) => {
        if ((await inner.state()) === 'paused') return;
        log.push(`pause ${id} ${options.memory ? 'memory' : 'filesystem'}`);
        await act('pause', () => inner.pause(options));
      },
      resume: async (options = {}) => {
        log.push(`resume ${id}${options.memory === undefined ? '' : ` memory: ${options.memory}`}`);
        await act('resume', () => inner.resume(options));
      },
      snapshot: async (options) => {
        log.push(`snapshot ${id} ${options.memory ? 'memory' : 'filesystem'}`);
        await act('snapshot', async () => {
          await inner.snapshot(options);
          snapshotIds.add(options.id);
          await released('copy');
        });
      },
      setNetwork: async ({ allow, deny }) => {
        log.push(`network ${id} allow ${allow.join()} deny ${deny.join()}`);
        // These instances have none, and accept each policy.
        await act('network', async () => {});
      },
      stop: async () => {
        log.push(`stop ${id}`);
        await act('stop', async () => {
          await inner.stop();
          instances.delete(id);
        });
      },
    };
    // All other properties, the changing run id too, are those of the instance itself.
    return Object.assign(Object.create(inner) as Instance, acts);
  };

  return {
    name: memory.name,
    features: memory.features,
    instances,
    snapshotIds,
    log,
    inits,
    crash: memory.crash,
    vanish,
    fail: (kind, error) => failures.set(kind, error),
    loseAnswer: (kind) => lost.add(kind),
    hold: (kind) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held.set(kind, promise);
      return resolve;
    },
    create: async (spec, options) => {
      const made = await act('create', () => memory.create(spec, options));
      instances.add(spec.id);
      return wrap(made);
    },
    get: async (id) => wrap(await act('get', () => memory.get(id))),
    list: async function* () {
      for await (const instance of memory.list()) yield wrap(instance);
    },
    snapshots: {
      ...memory.snapshots,
      // Lasts until the signal aborts.
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
        await memory.snapshots.delete(id);
        snapshotIds.delete(id);
      },
    },
    close: async () => {
      for (const id of [...instances]) await vanish(id);
    },
  };
};
