import { readdir, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import type { ForeignMemory } from '@skerry/contract/foreign-memory';
import { type IsolationLevel, levelsFrom } from '@skerry/contract/isolation';
import { createTurns } from '@skerry/contract/turns';
import type { SnapshotCopies } from '../../blob-copies/snapshot-copies.ts';
import { RuntimeError } from '../../error.ts';
import type { HostLoad } from '../../host-load.ts';
import type { Gateway } from '../../network/gateway/gateway.ts';
import type { Features, Kept, LevelFeatures, Runtime } from '../../runtime.ts';
import type { AddressedRuntime } from '../guest-socket.ts';
import { createAdopter } from './adopt.ts';
import type { LivenessPipe } from './container/liveness-pipe.ts';
import { createSandbox, removeSandbox, type StartRun } from './create.ts';
import { toMemoryDeadlineMs } from './criu/memory-deadline.ts';
import { restoreSandbox } from './criu/restore-run.ts';
import { exportSnapshot, sweepExports } from './export-image.ts';
import { toSandboxesDir, toSandboxFolder } from './folder.ts';
import { type OciHost, readHost } from './host.ts';
import type { RootlessOptions } from './host-backend.ts';
import { createInstance, type OciInstance, type Run } from './instance.ts';
import type { LaterLevels } from './level-opening.ts';
import { levels } from './levels.ts';
import { type LevelPrograms, type OpenedLevel, openedLevel, type TryLevel } from './opened-levels.ts';
import { readRecord, type SandboxRecord, writeRecord } from './record.ts';
import { reopenDisk } from './resume.ts';
import { createSnapshotCopies } from './snapshots/blob-copies/snapshot-copies.ts';
import { compareTrees } from './snapshots/compare-trees.ts';
import { startSandbox } from './start.ts';
import { toStepError } from './step-error.ts';

export interface OciOptions extends LevelPrograms {
  /** Absolute path. One process at a time owns it. */
  dataDir: string;
  /** The folder that is bound read-only to `/.envd` inside. */
  agentDir: string;
  /** The first process inside, by its path there. */
  command?: readonly string[];
  /**
   * How long an agent may take to be ready, from the moment its start begins; 60 s when absent. A caller can set a
   * shorter limit with its signal.
   */
  startTimeoutMs?: number;
  /** The levels that may be opened where this host has the programs for them. Default: all. */
  levels?: readonly IsolationLevel[] | undefined;
  /** The levels that are opened at their first use, where this host may run them. Default: none. */
  laterLevels?: LaterLevels | undefined;
  /** The level of a sandbox whose create names none. Default: `gvisor` with `runscPath`, else `container`. */
  level?: IsolationLevel | undefined;
  /** No run begins below it. Default: `level`. */
  minimumLevel?: IsolationLevel | undefined;
  /** The folder in which the servers of this host reserve slots, when it is not the usual one. */
  stateDir?: string;
  /** What decides on names that sandboxes may reach. Default: no sandbox can have such rules. */
  gateway?: Gateway | undefined;
  /** Set where this process is not root of the host. */
  rootless?: RootlessOptions | undefined;
  /** Whether memory that comes from a blob store is restored here. Default: `allow`. */
  foreignMemory?: ForeignMemory | undefined;
}

export interface OciDriver extends AddressedRuntime {
  readonly snapshotCopies: SnapshotCopies;
  measure(): Promise<HostLoad>;
}

/**
 * The number of concurrent starts for each processor. A start mostly uses the processor: with more of them, all take
 * longer and none ends until nearly all do.
 */
const STARTS_PER_PROCESSOR = 2;
/** A start that takes longer waits for something else, perhaps inside the sandbox: the next one may begin. */
const LONGEST_TURN_MS = 2_000;

// One thread for the background work of V8, whose default is four: each takes some 40 kB, and the agent needs little.
const defaultCommand = ['/.envd/tini', '--', '/.envd/node', '--v8-pool-size=1', '/.envd/app/main.js'];

/**
 * Runs sandboxes as OCI containers, without a daemon: a bundle made here, started by crun (or runc). Needs root, of the
 * host or of a rootless namespace.
 * @throws RuntimeError `unsupported` when this host has no OCI runtime for the default level
 */
export const createOci = (options: OciOptions): OciDriver => {
  const { dataDir } = options;
  // These characters would end a mount option and begin another.
  if (!isAbsolute(dataDir) || /[,:\\\s]/.test(dataDir)) {
    throw new RuntimeError(
      'unsupported',
      'the data folder must be an absolute path without comma, colon, backslash, space',
    );
  }
  /** The test sandboxes of levels that open, which no list has: what tries the level ends them. */
  const hidden = new Set<string>();
  const tryLevel: TryLevel = (level, opened, use) => {
    const levelHost = {
      levels: { ...host.levels, [level]: opened },
      defaultLevel: level,
      minimumLevel: level,
    };
    const trial = openDriver({ ...host, ...levelHost }, { ...options, laterLevels: {} }, new Set());
    const create: Runtime['create'] = async (spec, how) => {
      hidden.add(spec.id);
      return trial.create(spec, how);
    };
    return use({ ...trial, create }).finally(() => hidden.clear());
  };
  const { laterLevels } = options;
  const host = readHost({ ...options, later: laterLevels && { levels: laterLevels, tryLevel } });
  sweepExports(dataDir);
  return openDriver(host, options, hidden);
};

/** Returns the driver over a host. `hidden` has the ids of sandboxes that it neither lists nor counts. */
const openDriver = (host: OciHost, options: OciOptions, hidden: ReadonlySet<string>): OciDriver => {
  const { dataDir, agentDir, command = defaultCommand, startTimeoutMs = 60_000 } = options;
  const { runtime, ...opened } = openedLevel(host, levels[host.defaultLevel].recorded);
  const toKept = (memory: boolean): Kept => ({
    pause: { memory, filesystem: true },
    snapshot: { memory, filesystem: host.capturesDisks },
  });
  const keepsMemory = ({ criu, sentry }: Pick<OpenedLevel, 'criu' | 'sentry'>): boolean =>
    criu !== undefined || sentry !== undefined;
  const describeLevel = (level: IsolationLevel): LevelFeatures | undefined => {
    const open = host.levels[level];
    if (open !== undefined) return toKept(keepsMemory(open));
    const later = options.laterLevels?.[level];
    return later && { ...toKept(later.keepsMemory), isExpected: true };
  };
  const features: Features = {
    level: host.defaultLevel,
    minimumLevel: host.minimumLevel,
    get levels() {
      return Object.fromEntries(
        levelsFrom(host.minimumLevel).flatMap((level) => {
          const found = describeLevel(level);
          return found ? [[level, found]] : [];
        }),
      );
    },
    programs: true,
    ...toKept(keepsMemory(opened)),
    imageExport: true,
    network: true,
    nameRules: host.gateway !== undefined,
    limits: host.limits,
  };
  const adopt = createAdopter(host);
  const known = new Map<string, OciInstance>();
  const finding = new Map<string, Promise<Run>>();
  const starting = new Set<string>();
  const starts = createTurns(STARTS_PER_PROCESSOR * availableParallelism());
  const stopping = new Map<string, Promise<void>>();

  const stop = (id: string): Promise<void> => {
    const running = stopping.get(id);
    if (running) return running;
    const stopped = removeSandbox(host, id).finally(() => stopping.delete(id));
    stopping.set(id, stopped);
    return stopped;
  };

  const remember = (id: string, run: Run): OciInstance => {
    const instance = createInstance({
      host,
      id,
      run,
      startRun: (record, signal) => startRun(record, { signal, prepareDisk: () => reopenDisk(host, record) }),
      stop: async () => {
        // A later sandbox of the same id does not belong to this instance.
        if (known.get(id) !== instance) return;
        await stop(id);
        if (known.get(id) === instance) known.delete(id);
      },
    });
    known.set(id, instance);
    return instance;
  };

  /** Undefined when there is no such sandbox, or when it is still being made. */
  const find = async (id: string): Promise<OciInstance | undefined> => {
    if (starting.has(id)) return undefined;
    const entry = known.get(id);
    if (entry) return entry;
    const folder = toSandboxFolder(dataDir, id);
    const record = await readRecord(folder.record);
    const isPresent = record !== undefined || (await isFolder(folder.path));
    const hasChanged = (): boolean => starting.has(id) || stopping.has(id) || known.has(id);
    if (!isPresent || hasChanged()) return known.get(id);
    const found = finding.get(id) ?? adopt(record).finally(() => finding.delete(id));
    finding.set(id, found);
    const run = await found;
    if (!hasChanged()) return remember(id, run);
    const other = known.get(id);
    // Another instance that has taken over the run owns its pipe.
    if (other === undefined) run.line?.close();
    return other;
  };

  const readSandboxes = async (): Promise<string[]> => {
    try {
      return (await readdir(toSandboxesDir(dataDir))).filter((id) => !hidden.has(id));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  };

  const startRun: StartRun = async (record, { signal, prepareDisk }) => {
    const { memory } = record;
    if (memory) {
      const restoreAgentDir = record.agentDir ?? agentDir;
      // The deadline follows from how much was kept.
      const until = signal ?? AbortSignal.timeout(toMemoryDeadlineMs(record.spec.limits.memoryBytes));
      return restoreSandbox({
        host,
        record,
        memory,
        agentDir: restoreAgentDir,
        command,
        signal: until,
        prepareDisk,
      });
    }
    const leave = await starts.begin(signal).catch((cause: unknown) => {
      throw new RuntimeError('unavailable', 'aborted while waiting for a free place', { cause });
    });
    const timer = setTimeout(leave, LONGEST_TURN_MS);
    try {
      return await startAfresh(record, { signal, prepareDisk });
    } finally {
      clearTimeout(timer);
      leave();
    }
  };

  /** Starts the command of the sandbox, without kept memory. */
  const startAfresh: StartRun = async (record, { signal, prepareDisk }) => {
    const deadline = AbortSignal.timeout(startTimeoutMs);
    const anySignal = signal ? AbortSignal.any([signal, deadline]) : deadline;
    const { id } = record.spec;
    let line: LivenessPipe | undefined;
    try {
      line = await startSandbox({ host, record, agentDir, command, signal: anySignal, prepareDisk });
      const ready: SandboxRecord = { ...record, phase: 'ready', agentDir };
      await writeRecord(toSandboxFolder(dataDir, id).record, ready);
      return { record: ready, line };
    } catch (error) {
      line?.close();
      throw await toStepError(error, { step: `starting sandbox ${id}`, dataDir, signal: anySignal });
    }
  };

  return {
    name: `oci-${runtime.name}`,
    features,
    create: async (spec, { signal } = {}) => {
      const { id } = spec;
      if (starting.has(id)) throw new RuntimeError('already_exists', `sandbox ${id} is being made`);
      starting.add(id);
      try {
        return remember(id, await createSandbox(host, spec, { startRun, remove: () => stop(id), signal }));
      } catch (error) {
        throw await toStepError(error, { step: `creating sandbox ${id}`, dataDir });
      } finally {
        starting.delete(id);
      }
    },
    get: async (id) => {
      const instance = /^[a-z0-9]{1,40}$/.test(id) ? await find(id) : undefined;
      if (!instance) throw new RuntimeError('not_found', `no sandbox ${id}`);
      return instance;
    },
    list: async function* () {
      for (const id of await readSandboxes()) {
        const instance = await find(id);
        if (instance) yield instance;
      }
    },
    snapshots: {
      ...host.snapshots,
      diff: (from, to, { signal } = {}) => compareTrees(host, { from, to, signal }),
      exportImage: async (id, { path, signal }) => exportSnapshot(host, id, { path, signal }),
    },
    snapshotCopies: createSnapshotCopies(host, {
      agentDir,
      foreignMemory: options.foreignMemory ?? 'allow',
    }),
    measure: async () => {
      const load: HostLoad = {
        ...{ running: 0, paused: 0, memoryBytes: 0, cpuCount: 0 },
        startsUnderWay: starts.taken,
        startsWaiting: starts.waiting,
      };
      for (const id of await readSandboxes()) {
        const instance = await find(id);
        const state = await instance?.state();
        if (state === 'paused') load.paused += 1;
        if (state !== 'running') continue;
        load.running += 1;
        load.memoryBytes += instance?.limits?.memoryBytes ?? 0;
        load.cpuCount += instance?.limits?.cpuCount ?? 0;
      }
      return load;
    },
    close: async () => {
      await Promise.allSettled(stopping.values());
      for (const instance of known.values()) instance.close();
      known.clear();
      await host.roots.close();
    },
  };
};

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
