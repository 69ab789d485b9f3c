import { readdir, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import { createGate } from '../../concurrency/gate.ts';
import { RuntimeError } from '../../error.ts';
import type { Features } from '../../runtime.ts';
import type { AddressedRuntime } from '../guest-socket.ts';
import { createAdopter } from './adopt.ts';
import type { LivenessPipe } from './container/liveness-pipe.ts';
import type { OciRuntimeName } from './container/oci-runtime.ts';
import { type Boot, createSandbox, removeSandbox } from './create.ts';
import { toMemoryDeadlineMs } from './criu/memory-deadline.ts';
import { restoreSandbox } from './criu/restore-run.ts';
import { toSandboxesDir, toSandboxFolder } from './folder.ts';
import { readHost } from './host.ts';
import type { GroundOptions } from './host-backend.ts';
import { createInstance, type OciInstance, type Run } from './instance.ts';
import { readRecord, type SandboxRecord, writeRecord } from './record.ts';
import { reopenDisk } from './resume.ts';
import { compareTrees } from './snapshots/compare-trees.ts';
import { startSandbox } from './start.ts';
import { toStepError } from './step-error.ts';

export interface OciOptions {
  /** Absolute path. One process at a time owns it. */
  dataDir: string;
  /** What is bound read-only to `/.envd` inside. */
  agentDir: string;
  /** The first process inside, by its path there. */
  command?: readonly string[];
  /**
   * How long an agent may take to be ready, once it is its turn to start; 60 s when absent. A caller that waits for less says so
   * by its signal.
   */
  startTimeoutMs?: number;
  /** Default: crun, or runc when that is missing. */
  ociRuntime?: OciRuntimeName;
  /** What `prepareRunsc` resolved with: sandboxes are of level `gvisor` then, and else of level `container`. */
  runscPath?: string | undefined;
  /** Where this host's servers agree on slots, when it is not the usual place. */
  stateDir?: string;
  /** Whether memory is kept at level `gvisor`. */
  keepsMemory?: boolean;
  /** Where `prepareCriu` has unpacked it; memory is not kept at level `container` without. */
  criuDir?: string | undefined;
  /** Where this process is no root of the host. */
  ground?: GroundOptions | undefined;
}

/**
 * Starts that are under way at the same time, for each processor. A start is mostly work of the processor: with more of them
 * all take longer together, and none is done until nearly all are.
 */
const STARTS_PER_PROCESSOR = 2;
/** One that takes longer waits for something else, which may be the fault of what is in the sandbox: then others go on. */
const LONGEST_TURN_MS = 2_000;

// One thread for what V8 does in the background, where it has four by itself: each keeps some 40 kB, and the agent gives
// it little to do.
const defaultCommand = ['/.envd/tini', '--', '/.envd/node', '--v8-pool-size=1', '/.envd/app/main.js'];

/**
 * Runs sandboxes as OCI containers, with no daemon: a bundle made here, and crun (or runc) to start it. Needs root, of the host or of
 * a ground.
 * @throws RuntimeError `unsupported` when this host has no OCI runtime
 */
export const createOci = (options: OciOptions): AddressedRuntime => {
  const { dataDir, agentDir, command = defaultCommand, startTimeoutMs = 60_000, stateDir } = options;
  // These would end the option of a mount and begin another.
  if (!isAbsolute(dataDir) || /[,:\\\s]/.test(dataDir)) {
    throw new RuntimeError(
      'unsupported',
      'the data folder is an absolute path without comma, colon, backslash, space',
    );
  }
  const { ociRuntime, runscPath, criuDir, keepsMemory, ground } = options;
  const host = readHost({ dataDir, stateDir, ociRuntime, runscPath, criuDir, keepsMemory, ground });
  const hasMemory = host.criu !== undefined || host.sentry !== undefined;
  const features: Features = {
    level: host.runtime.level,
    programs: true,
    pause: { memory: hasMemory, filesystem: true },
    snapshot: { memory: hasMemory, filesystem: host.capturesDisks },
    network: true,
    limits: host.limits,
  };
  const adopt = createAdopter(host);
  const known = new Map<string, OciInstance>();
  const finding = new Map<string, Promise<Run>>();
  const starting = new Set<string>();
  const starts = createGate(STARTS_PER_PROCESSOR * availableParallelism());
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
      boot: (record, signal) => boot(record, { signal, prepareDisk: () => reopenDisk(host, record) }),
      stop: async () => {
        // A later sandbox of the same id is none of this instance's business.
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
    // Else it is that one's.
    if (other === undefined) run.line?.close();
    return other;
  };

  const readSandboxes = async (): Promise<string[]> => {
    try {
      return await readdir(toSandboxesDir(dataDir));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  };

  const boot: Boot = async (record, { signal, prepareDisk }) => {
    const { memory } = record;
    if (memory) {
      const wakeDir = record.agentDir ?? agentDir;
      // How long that takes follows from how much was kept.
      const until = signal ?? AbortSignal.timeout(toMemoryDeadlineMs(record.spec.limits.memoryBytes));
      return restoreSandbox({ host, record, memory, agentDir: wakeDir, command, signal: until, prepareDisk });
    }
    const leave = await starts.enter(signal);
    const timer = setTimeout(leave, LONGEST_TURN_MS);
    try {
      return await start(record, { signal, prepareDisk });
    } finally {
      clearTimeout(timer);
      leave();
    }
  };

  /** Boots without memory. */
  const start: Boot = async (record, { signal, prepareDisk }) => {
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
    name: `oci-${host.runtime.name}`,
    features,
    create: async (spec, { signal } = {}) => {
      const { id } = spec;
      if (starting.has(id)) throw new RuntimeError('already_exists', `sandbox ${id} is being made`);
      starting.add(id);
      try {
        return remember(id, await createSandbox(host, spec, { boot, remove: () => stop(id), signal }));
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
    },
    close: async () => {
      await Promise.allSettled(stopping.values());
      for (const instance of known.values()) instance.close();
      known.clear();
    },
  };
};

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
