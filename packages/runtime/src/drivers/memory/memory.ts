import { mkdir, rm, stat } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { RuntimeError, toRuntimeError } from '../../error.ts';
import type { HostLoad } from '../../host-load.ts';
import { isInstanceId } from '../../instance-id.ts';
import type { Features, InstanceSpec, InstanceState, TreeOrigin } from '../../runtime.ts';
import type { AddressedRuntime } from '../guest-socket.ts';
import { parseInstanceId } from '../instance-spec.ts';
import { createMemoryInstance, type MemoryInstance, type MemorySnapshot, storesNoFiles } from './instance.ts';

export interface MemoryOptions {
  /** Absolute path. Runtimes of this process that use one folder share their sandboxes. */
  dataDir: string;
  /** Answers requests to the agents, on both of their sockets. Default: 204 to everything. */
  agent?: (id: string, socket: 'http' | 'control') => RequestListener;
  /** What it can keep. Default: everything. */
  keeps?: Partial<Pick<Features, 'pause' | 'snapshot'>>;
}

export interface MemoryRuntime extends AddressedRuntime {
  /** Ends the run of a sandbox, as the death of its agent does. Throws `not_found`. */
  crash(id: string): void;
  /** Returns a load without reserved memory: this driver enforces no limits. */
  measure(): Promise<HostLoad>;
}

/** All sandboxes of one data folder. */
interface World {
  readonly instances: Map<string, MemoryInstance>;
  readonly snapshots: Map<string, MemorySnapshot>;
  runs: number;
}

const worlds = new Map<string, World>();

/**
 * The driver in which no program runs: a sandbox is an agent of this process on two sockets, and the unchanged files of
 * its image. Runs, states and snapshots follow the port. Sandboxes outlive the runtime, and end with the process.
 */
export const createMemory = ({ dataDir, agent, keeps = {} }: MemoryOptions): MemoryRuntime => {
  const all = { memory: true, filesystem: true };
  const { pause = all, snapshot = pause } = keeps;
  const features: Features = {
    level: 'container',
    programs: false,
    pause,
    snapshot,
    imageExport: false,
    network: false,
    limits: { cpu: false, memory: false, disk: false, processes: false },
  };
  const world = worlds.get(dataDir) ?? { instances: new Map(), snapshots: new Map(), runs: 0 };
  worlds.set(dataDir, world);
  const { instances, snapshots } = world;
  const starting = new Set<string>();

  const find = (id: string): MemoryInstance => {
    const found = instances.get(id);
    if (found === undefined) throw new RuntimeError('not_found', `no sandbox ${id}`);
    return found;
  };

  const requireSnapshot = (id: string): MemorySnapshot => {
    const found = snapshots.get(id);
    if (found === undefined) throw new RuntimeError('not_found', `no snapshot ${id}`);
    return found;
  };

  const toRootfs = (origin: TreeOrigin): string => {
    if ('rootfs' in origin) return origin.rootfs;
    return 'snapshot' in origin ? requireSnapshot(origin.snapshot).rootfs : find(origin.instance).rootfs;
  };

  const make = async (spec: InstanceSpec, signal: AbortSignal | undefined): Promise<MemoryInstance> => {
    const { id, isolation = features.level } = spec;
    if (isolation !== features.level)
      throw new RuntimeError(
        'unsupported',
        `sandbox ${id} is of level ${isolation}, which this host does not run`,
      );
    const rootfs = toRootfs(spec);
    if (!(await stat(rootfs)).isDirectory()) throw new RuntimeError('internal', `${rootfs} is no folder`);
    const folder = join(dataDir, 'sandboxes', id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const instance = createMemoryInstance({
      id,
      rootfs,
      folder,
      features,
      snapshots,
      agent,
      nextRunId: () => `run${++world.runs}`,
      onStop: () => {
        if (instances.get(id) === instance) instances.delete(id);
      },
    });
    try {
      await instance.start();
      signal?.throwIfAborted();
    } catch (error) {
      await instance.stop();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    instances.set(id, instance);
    return instance;
  };

  return {
    name: 'memory',
    features,
    crash: (id) => find(id).crash(),
    measure: async () => {
      const states = await Promise.all([...instances.values()].map((instance) => instance.state()));
      const count = (state: InstanceState) => states.filter((one) => one === state).length;
      return {
        ...{ running: count('running'), paused: count('paused') },
        ...{ memoryBytes: 0, cpuCount: 0, startsUnderWay: 0, startsWaiting: 0 },
      };
    },
    create: async (spec, { signal } = {}) => {
      const id = parseInstanceId(spec.id);
      if (instances.has(id) || starting.has(id))
        throw new RuntimeError('already_exists', `sandbox ${id} exists already`);
      starting.add(id);
      try {
        return await make(spec, signal);
      } catch (error) {
        if (signal?.aborted)
          throw new RuntimeError('unavailable', 'the create was aborted', { cause: error });
        throw toRuntimeError(error, `creating sandbox ${id}`);
      } finally {
        starting.delete(id);
      }
    },
    get: async (id) => find(id),
    list: async function* () {
      yield* [...instances.values()];
    },
    snapshots: {
      list: async function* () {
        for (const [id, { ephemeral }] of snapshots) if (!ephemeral) yield { id, sizeBytes: 0 };
      },
      verify: async (id) => {
        requireSnapshot(id);
        return [];
      },
      diff: async function* (from, to, { signal } = {}) {
        if (signal?.aborted) throw new RuntimeError('unavailable', 'the comparison was aborted');
        if (toRootfs(from) !== toRootfs(to))
          throw new RuntimeError('unsupported', 'the two were made from different images');
        yield* [];
      },
      exportImage: storesNoFiles,
      delete: async (id) => {
        if (isInstanceId(id)) snapshots.delete(id);
      },
    },
    close: async () => {},
  };
};
