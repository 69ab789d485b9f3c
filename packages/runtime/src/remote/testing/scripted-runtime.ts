import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import type { AddressedInstance, AddressedRuntime } from '../../drivers/guest-socket.ts';
import { createMemory } from '../../drivers/memory/memory.ts';
import { RuntimeError } from '../../error.ts';

/** What each of its instances reports that it uses. */
export const used = {
  cpuTimeMs: 1,
  memoryBytes: 2,
  cacheBytes: 3,
  diskBytes: 4,
  freeDiskBytes: 6,
  processCount: 5,
  oomKills: 7,
};

/** What each export of a snapshot resolves with. */
export const exportedImage = { digest: `sha256:${'0'.repeat(64)}`, sizeBytes: 7 };

/**
 * The memory driver, with agents that say who they are, and a script: an id with "slow" waits for `release`, and snapshots named
 * "wordy", "secret" and "full" fail, each in its own way.
 */
export const createScriptedRuntime = (
  dataDir: string,
): AddressedRuntime & {
  log: string[];
  release: () => void;
  /** From now on a list does not end. */
  listsForEver: () => void;
  /** How many instances were taken from such a list. */
  listed: () => number;
} => {
  const agent =
    (id: string, socket: string): RequestListener =>
    (_request, response) =>
      void response.end(`${socket} of ${id}`);
  const memory = createMemory({
    dataDir,
    agent,
    keeps: { pause: { memory: false, filesystem: true }, snapshot: { memory: false, filesystem: true } },
  });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const log: string[] = [];
  let isEndless = false;
  let listed = 0;

  const wrap = (inner: AddressedInstance): AddressedInstance => {
    const { id } = inner;
    const scripted: Partial<AddressedInstance> = {
      resume: async (options = {}) => {
        const { memory: withMemory, signal } = options;
        log.push(`resume ${id} ${withMemory}`);
        if (id.startsWith('slow')) {
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
          throw new RuntimeError('unavailable', 'aborted');
        }
        await inner.resume(options);
      },
      snapshot: async (options) => {
        const { id: snapshot, memory: withMemory, ephemeral, unlisted } = options;
        if (snapshot === 'wordy') throw new RuntimeError('unsupported', 'x'.repeat(100_000));
        if (snapshot === 'secret') throw new Error('secret of the host');
        if (snapshot === 'full')
          throw new RuntimeError('exhausted', 'the host is full', { cause: new Error('secret of its disk') });
        log.push(`snapshot ${id} ${snapshot} ${withMemory} ${ephemeral} ${unlisted}`);
        await inner.snapshot(options);
      },
      usage: async () => used,
    };
    // All else, the changing run id too, is that of the instance itself.
    return Object.assign(Object.create(inner) as AddressedInstance, scripted);
  };

  return {
    name: memory.name,
    features: memory.features,
    log,
    release,
    listsForEver: () => {
      isEndless = true;
    },
    listed: () => listed,
    create: async (spec, { signal } = {}) => {
      const { id } = spec;
      log.push(`create ${id}${'snapshot' in spec ? ` of ${spec.snapshot}` : ''}`);
      if (id.startsWith('slow')) {
        const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
        await Promise.race([released, aborted]);
        if (signal?.aborted) {
          await setTimeout(30);
          log.push(`undone ${id}`);
          throw new RuntimeError('unavailable', 'aborted');
        }
      }
      return wrap(await memory.create(spec, signal ? { signal } : {}));
    },
    get: async (id) => {
      if (id === 'torn') throw new Error('its record is torn');
      return wrap(await memory.get(id));
    },
    list: async function* () {
      for await (const instance of memory.list()) yield wrap(instance);
      const sockets = { http: '/http', control: '/control' };
      const one = { id: 'endless', birthId: 'b', runId: 'r', sockets } as AddressedInstance;
      try {
        for (; isEndless; listed++) yield one;
      } finally {
        if (isEndless) log.push('list left');
      }
    },
    snapshots: {
      ...memory.snapshots,
      diff: async function* (from, to, { signal } = {}) {
        if ('rootfs' in from) {
          log.push('diff');
          if (signal?.aborted === false) await once(signal, 'abort');
          log.push('diff aborted');
          throw new RuntimeError('unavailable', 'the comparison was aborted');
        }
        yield { path: JSON.stringify([from, to]), change: 'changed' as const, fields: ['mode'] };
      },
      exportImage: async (id, { path }) => {
        log.push(`export ${id} ${path}`);
        return exportedImage;
      },
      verify: async (id) => {
        const found = await memory.snapshots.verify(id);
        return id === 'torn' ? ['its disk is gone'] : found;
      },
    },
    close: async () => {
      for await (const instance of memory.list()) await instance.stop();
    },
  };
};
