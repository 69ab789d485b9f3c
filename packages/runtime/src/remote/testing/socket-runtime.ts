import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { AddressedInstance, AddressedRuntime } from '../../drivers/guest-socket.ts';
import { RuntimeError } from '../../error.ts';

/** What each of its instances says that it uses. */
export const used = { cpuTimeMs: 1, memoryBytes: 2, cacheBytes: 3, diskBytes: 4, processCount: 5 };

/** A runtime without isolation: each instance is two sockets that say who they are. An id with "slow" waits for `release`. */
export function createSocketRuntime(
  folder: string,
): AddressedRuntime & { log: string[]; release: () => void } {
  const instances = new Map<string, { instance: AddressedInstance; servers: Server[] }>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const log: string[] = [];
  const snapshots = new Set<string>();
  let runs = 0;

  const listen = async (id: string, name: string): Promise<Server> => {
    const listener = createServer((socket) => socket.end(`${name} of ${id}`));
    await once(listener.listen(join(folder, `${id}.${name}`)), 'listening');
    return listener;
  };

  const toInstance = (id: string, servers: Server[]): AddressedInstance => {
    const listeners = new Set<() => void>();
    let state: 'running' | 'paused' | 'stopped' = 'running';
    let runId = `run${++runs}`;
    return {
      id,
      birthId: `birth of ${runId}`,
      get runId() {
        return runId;
      },
      sockets: { http: join(folder, `${id}.http`), control: join(folder, `${id}.control`) },
      state: async () => state,
      connect: () => Promise.reject(new RuntimeError('unsupported', 'not here')),
      control: () => Promise.reject(new RuntimeError('unsupported', 'not here')),
      pause: async ({ memory }) => {
        if (memory) throw new RuntimeError('unsupported', 'not here');
        state = 'paused';
        for (const listener of listeners) listener();
        listeners.clear();
      },
      resume: async ({ memory, signal } = {}) => {
        log.push(`resume ${id} ${memory}`);
        if (id.startsWith('slow')) {
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
          throw new RuntimeError('unavailable', 'aborted');
        }
        state = 'running';
        runId = `run${++runs}`;
      },
      snapshot: async ({ id: snapshot, memory, lasting }) => {
        if (snapshot === 'wordy') throw new RuntimeError('unsupported', 'x'.repeat(100_000));
        if (snapshot === 'secret') throw new Error('secret of the host');
        if (snapshot === 'full')
          throw new RuntimeError('exhausted', 'the host is full', { cause: new Error('secret of its disk') });
        log.push(`snapshot ${id} ${snapshot} ${memory} ${lasting}`);
        snapshots.add(snapshot);
      },
      usage: async () => used,
      stop: async () => {
        state = 'stopped';
        instances.delete(id);
        for (const listener of servers) listener.close();
        for (const listener of listeners) listener();
      },
      onExit: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
  };

  return {
    name: 'sockets',
    features: {
      level: 'container',
      pause: { memory: false, filesystem: false },
      snapshot: { memory: false, filesystem: true },
      network: false,
      limits: { cpu: false, memory: false, disk: false, processes: false },
    },
    log,
    release,
    create: async ({ id, ...origin }, { signal } = {}) => {
      log.push(`create ${id}${'snapshot' in origin ? ` of ${origin.snapshot}` : ''}`);
      if (instances.has(id)) throw new RuntimeError('already_exists', id);
      if (id.startsWith('slow')) {
        const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
        await Promise.race([released, aborted]);
        if (signal?.aborted) {
          await setTimeout(30);
          log.push(`undone ${id}`);
          throw new RuntimeError('unavailable', 'aborted');
        }
      }
      const servers = [await listen(id, 'http'), await listen(id, 'control')];
      const instance = toInstance(id, servers);
      instances.set(id, { instance, servers });
      return instance;
    },
    get: async (id) => {
      const known = instances.get(id);
      if (!known) throw new RuntimeError('not_found', id);
      return known.instance;
    },
    async *list() {
      for (const { instance } of instances.values()) yield instance;
    },
    snapshots: {
      async *list() {
        for (const id of snapshots) yield { id, sizeBytes: 5 };
      },
      diff: async function* (from, to, { signal } = {}) {
        if ('rootfs' in from) {
          if (signal?.aborted === false) await once(signal, 'abort');
          throw new RuntimeError('unavailable', 'the comparison was aborted');
        }
        yield { path: JSON.stringify([from, to]), change: 'changed' as const, fields: ['mode'] };
      },
      verify: async (id) => {
        if (!snapshots.has(id)) throw new RuntimeError('not_found', id);
        return id === 'torn' ? ['its disk is gone'] : [];
      },
      delete: async (id) => void snapshots.delete(id),
    },
    close: async () => {
      for (const { servers } of instances.values()) for (const listener of servers) listener.close();
    },
  };
}
