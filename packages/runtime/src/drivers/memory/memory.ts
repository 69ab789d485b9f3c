import { mkdir, rm, stat } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { type IsolationLevel, levelsFrom, strongestOf } from '@skerry/contract/isolation';
import { RuntimeError, toRuntimeError } from '../../error.ts';
import type { HostLoad } from '../../host-load.ts';
import { isInstanceId } from '../../instance-id.ts';
import type { Features, InstanceSpec, InstanceState, Kept, TreeOrigin } from '../../runtime.ts';
import type { AddressedRuntime } from '../guest-socket.ts';
import { parseInstanceId } from '../instance-spec.ts';
import { createMemoryInstance, type MemoryInstance, type MemorySnapshot, storesNoFiles } from './instance.ts';

export interface MemoryOptions {
  /** Absolute path. Runtimes of this process that use one folder share their sandboxes. */
  dataDir: string;
  /** Answers requests to the agents, on both of their sockets. Default: 204 to everything. */
  agent?: (id: string, socket: 'http' | 'control') => RequestListener;
  /** What it can keep. Default: everything. */
  keeps?: Partial<Kept>;
  /** The levels that its sandboxes claim; the first is the default. Default: `container`. Nothing is isolated at either. */
  levels?: readonly [IsolationLevel, ...IsolationLevel[]];
  /** Default: the weakest of `levels`. */
  minimumLevel?: IsolationLevel;
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
  /** That of the runtime that was made last. */
  minimumLevel: IsolationLevel;
}

const worlds = new Map<string, World>();

/**
 * The driver in which no program runs: a sandbox is an agent of this process on two sockets, and the unchanged files of
 * its image. Runs, states and snapshots follow the port. Sandboxes outlive the runtime, and end with the process.
 */
export const createMemory = ({
  dataDir,
  agent,
  keeps = {},
  levels = ['container'],
  minimumLevel = levels[0],
}: MemoryOptions): MemoryRuntime => {
  const all = { memory: true, filesystem: true };
  const { pause = all, snapshot = pause } = keeps;
  const features: Features = {
    level: levels[0],
    minimumLevel,
    levels: Object.fromEntries(
      levelsFrom(minimumLevel).flatMap((level) =>
        levels.includes(level) ? [[level, { pause, snapshot }]] : [],
      ),
    ),
    programs: false,
    pause,
    snapshot,
    imageExport: false,
    network: false,
    nameRules: false,
    limits: { cpu: false, memory: false, disk: false, processes: false },
  };
  const world = worlds.get(dataDir) ?? { instances: new Map(), snapshots: new Map(), runs: 0, minimumLevel };
  world.minimumLevel = minimumLevel;
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

  const chooseLevel = (id: string, needed: readonly IsolationLevel[]): IsolationLevel => {
    const strongest = strongestOf([...needed, world.minimumLevel]);
    const chosen = levelsFrom(strongest).find((level) => levels.includes(level));
    if (chosen !== undefined) return chosen;
    throw new RuntimeError(
      'unsupported',
      `sandbox ${id} is of level ${strongest}, which this host does not run`,
    );
  };

  /** Chooses the level as `chooseLevel` does, for an origin that has a level. Throws `unsupported` when its processes would change theirs. */
  const raiseLevel = (
    id: string,
    { isolation: own, memory }: Pick<MemorySnapshot, 'isolation' | 'memory'>,
    asked: IsolationLevel = own,
  ): IsolationLevel => {
    const chosen = chooseLevel(id, [own, asked]);
    if (!memory || chosen === own) return chosen;
    throw new RuntimeError(
      'unsupported',
      `the memory of sandbox ${id} is of level ${own}, and cannot be restored at level ${chosen}`,
    );
  };

  const make = async (spec: InstanceSpec, signal: AbortSignal | undefined): Promise<MemoryInstance> => {
    const { id } = spec;
    const isolation =
      'snapshot' in spec
        ? raiseLevel(id, requireSnapshot(spec.snapshot), spec.isolation)
        : chooseLevel(id, [spec.isolation ?? features.level]);
    const rootfs = toRootfs(spec);
    if (!(await stat(rootfs)).isDirectory()) throw new RuntimeError('internal', `${rootfs} is no folder`);
    const folder = join(dataDir, 'sandboxes', id);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const instance = createMemoryInstance({
      id,
      rootfs,
      folder,
      isolation,
      raiseLevel: (own, { memory }) => raiseLevel(id, { isolation: own, memory }),
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
