import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSerialQueue } from '../../concurrency/serial-queue.ts';
import { RuntimeError } from '../../error.ts';
import type { NetworkOptions } from '../../network/attach.ts';
import { changeNetwork, requireChangeable } from '../../network/change-network.ts';
import type { NetworkPolicy } from '../../network/policy.ts';
import type { Limits, Usage } from '../../runtime.ts';
import { createGuestConnections } from '../guest-connections.ts';
import { type AddressedInstance, connectGuest, connectGuestSocket } from '../guest-socket.ts';
import type { LivenessPipe } from './container/liveness-pipe.ts';
import { readPid } from './container/read-pid.ts';
import { exportImage } from './export-image.ts';
import { type SnapshotFolder, toSandboxFolder } from './folder.ts';
import { beginSentryPause } from './gvisor/pause-sentry.ts';
import type { OciHost } from './host.ts';
import { levelOf } from './levels.ts';
import { ensureLevel } from './opened-levels.ts';
import { beginPause, settlePause } from './pause.ts';
import { type SandboxRecord, writeRecord } from './record.ts';
import { beginResume } from './resume.ts';
import { type CaptureTarget, capturePaused, captureRunning, type MemoryWriter } from './snapshots/capture.ts';
import type { Captured } from './snapshots/snapshot-record.ts';
import { toStepError } from './step-error.ts';

/** What this process knows of a sandbox: its record as last written, and the liveness pipe of its present run. */
export interface Run {
  /** Undefined when the maker of the sandbox has written none. */
  record: SandboxRecord | undefined;
  /** Undefined when no process of the sandbox is alive. */
  line: LivenessPipe | undefined;
}

export interface OciInstance extends AddressedInstance {
  /** Undefined when the maker of the sandbox has written no record. */
  readonly limits: Limits | undefined;
  /** Closes everything that this process holds open. */
  close(): void;
}

export interface OciInstanceOptions {
  host: OciHost;
  id: string;
  run: Run;
  /** Makes the run that a record in phase `resuming` names and resolves with the record in phase `ready`. */
  startRun: (record: SandboxRecord, signal: AbortSignal) => Promise<Run>;
  stop: () => Promise<void>;
}

export const createInstance = (options: OciInstanceOptions): OciInstance => {
  const { host, id, startRun } = options;
  let { run } = options;
  const folder = toSandboxFolder(host.dataDir, id);
  const cgroup = host.cgroup(id);
  const sockets = { http: `${folder.guest}/http.sock`, control: `${folder.guest}/control.sock` };
  const connections = createGuestConnections();
  const resumes = new Set<AbortController>();
  let isRemoved = false;
  /** Pausing, resuming, capturing and stopping one sandbox never overlap. */
  const { run: inTurn } = createSerialQueue();

  const isAlive = (): boolean => !isRemoved && run.line !== undefined && !run.line.isEnded();

  const keepFailed = async (error: unknown): Promise<never> => {
    throw await toStepError(error, { step: `pausing sandbox ${id}`, dataDir: host.dataDir });
  };

  /**
   * Completes a pause that has begun, or a resume that failed. Resolves with the record of the paused sandbox, which is on the medium
   * then; with undefined when it is not paused.
   */
  const settled = async (): Promise<SandboxRecord | undefined> => {
    const { record } = run;
    if (isRemoved || record === undefined || !isPaused(record)) return undefined;
    if (record.phase === 'paused') return record;
    const paused = await settlePause(host, record).catch(keepFailed);
    // The listeners are called before anything else happens.
    await run.line?.ended;
    run = { record: paused, line: undefined };
    return paused;
  };

  /** A failure of CRIU may end the processes: when this rejects, `state` says whether the sandbox has ended. */
  const dumping = async <T>(dump: () => Promise<T>): Promise<T> => {
    try {
      return await dump();
    } catch (error) {
      await Promise.race([run.line?.ended, sleep(END_MS)]);
      if (isAlive()) throw error;
      throw new RuntimeError('unavailable', `sandbox ${id} ended while its memory was written`, {
        cause: error,
      });
    }
  };

  const requireWriter = (): MemoryWriter => {
    const { criu, sentry } = host.levels[levelOf(run.record).name] ?? {};
    if (sentry) return { sentry };
    if (criu) return { criu };
    throw new RuntimeError('unsupported', `the memory of sandbox ${id} cannot be kept on this host`);
  };

  /** The first half of a pause. */
  const toBegin = (memory: boolean): ((record: SandboxRecord) => Promise<SandboxRecord>) => {
    if (!memory) return (record) => beginPause(host, record, { criu: undefined }).catch(keepFailed);
    const writer = requireWriter();
    return 'sentry' in writer
      ? (record) => dumping(() => beginSentryPause(host, record, writer))
      : (record) => dumping(() => beginPause(host, record, writer).catch(keepFailed));
  };

  const pause = async (begin: (record: SandboxRecord) => Promise<SandboxRecord>): Promise<void> => {
    if ((await settled()) !== undefined) return;
    if (run.record === undefined || !isAlive()) throw ended(id);
    run = { ...run, record: await begin(run.record) };
    await settled();
  };

  const resume = async (memory: boolean | undefined, signal: AbortSignal): Promise<void> => {
    const paused = await settled();
    if (paused === undefined && isAlive()) return;
    if (paused === undefined) throw ended(id);
    const kept = memory === false ? undefined : paused.memory;
    if (memory === true && kept === undefined)
      throw new RuntimeError('unsupported', `sandbox ${id} was paused without its memory`);
    if (signal.aborted)
      throw new RuntimeError('unavailable', 'the resume was aborted', { cause: signal.reason });
    const record = await beginResume(host, paused, { memory: kept }).catch(async (error: unknown) => {
      throw await toStepError(error, { step: `resuming sandbox ${id}`, dataDir: host.dataDir });
    });
    run = { record, line: undefined };
    try {
      run = await startRun(record, signal);
    } catch (error) {
      await settled();
      throw error;
    }
  };

  const capture = async (to: CaptureTarget): Promise<Captured> => {
    const paused = await settled();
    if (paused !== undefined) return capturePaused(host, paused, to);
    const { record } = run;
    if (record === undefined || !isAlive()) throw ended(id);
    const take = () => captureRunning(host, record, to);
    return to.writer ? connections.interrupt(() => dumping(take)) : take();
  };

  const setNetwork = async (policy: NetworkPolicy): Promise<void> => {
    const { record } = run;
    if (record === undefined || isPaused(record) || !isAlive()) throw ended(id);
    const options: NetworkOptions = {
      pid: readPid(folder),
      slot: record.slot,
      policy,
      hasOwnStack: levelOf(record).hasOwnStack,
      gateway: host.gateway,
      stateDir: host.stateDir,
      ...host.surroundings,
    };
    requireChangeable(options);
    run = { ...run, record: { ...record, spec: { ...record.spec, network: policy } } };
    await writeRecord(folder.record, run.record as SandboxRecord);
    await changeNetwork(options);
  };

  const dropMemory = async (): Promise<void> => {
    if (isAlive()) await rm(folder.memory, { recursive: true, force: true });
  };

  return {
    id,
    birthId: run.record?.birthId ?? '',
    get runId() {
      return run.record?.runId ?? '';
    },
    get isolation() {
      return levelOf(run.record).name;
    },
    get limits() {
      return run.record?.spec.limits;
    },
    sockets,
    state: async () => {
      if (!isRemoved && run.record && isPaused(run.record)) return 'paused';
      // A sandbox that is frozen for a snapshot counts as running.
      return isAlive() && (await cgroup.state()) !== 'stopped' ? 'running' : 'stopped';
    },
    connect: (port, connectOptions = {}) =>
      connections.open(() => connectGuest({ sockets, port, ...connectOptions })),
    control: (controlOptions) =>
      connections.open(() => connectGuestSocket({ path: sockets.control, signal: controlOptions?.signal })),
    pause: async ({ memory }) => {
      if (memory) await ensureLevel(host, run.record);
      const begin = toBegin(memory);
      const act = () => inTurn(() => pause(begin));
      await (memory ? connections.interrupt(act) : act());
    },
    resume: async ({ memory, signal } = {}) => {
      const abort = new AbortController();
      resumes.add(abort);
      const anySignal = signal ? AbortSignal.any([signal, abort.signal]) : abort.signal;
      await inTurn(() => resume(memory, anySignal)).finally(() => resumes.delete(abort));
      // The images of a run are not needed once it is made; a caller that waits for the run must not wait for their
      // removal.
      inTurn(() => dropMemory()).catch(() => {
        // The next pause removes it first, and so does a stop.
      });
    },
    snapshot: async ({ id: snapshotId, memory, ephemeral = false, unlisted = false }) => {
      if (memory) await ensureLevel(host, run.record);
      const writer = memory ? requireWriter() : undefined;
      if (!host.capturesDisks)
        throw new RuntimeError('unsupported', 'this host cannot capture the files of an instance');
      const take = (folder: SnapshotFolder) => inTurn(() => capture({ ...folder, writer }));
      await (ephemeral
        ? host.snapshots.makeEphemeral(snapshotId, take)
        : host.snapshots.make(snapshotId, take, { unlisted }));
    },
    exportImage: ({ path, signal }) =>
      inTurn(async () => {
        const paused = await settled();
        if (paused === undefined) throw new RuntimeError('unavailable', `sandbox ${id} is not paused`);
        return exportImage(host, paused, { path, signal }).catch(async (error: unknown) => {
          throw await toStepError(error, {
            step: `exporting sandbox ${id}`,
            dataDir: host.dataDir,
            ...(signal && { signal }),
          });
        });
      }),
    setNetwork: (policy) => inTurn(() => setNetwork(policy)),
    usage: async (): Promise<Usage> => {
      const [used, disk] = await Promise.all([cgroup.usage(), host.disks.measure(folder)]);
      return { ...used, ...disk };
    },
    stop: async () => {
      for (const abort of resumes) abort.abort();
      await inTurn(options.stop);
      isRemoved = true;
    },
    onExit: (listener) => {
      let isListening = true;
      void (run.line?.ended ?? Promise.resolve()).then(() => {
        if (isListening) listener();
      });
      return () => {
        isListening = false;
      };
    },
    close: () => run.line?.close(),
  };
};

/** The first process ends all others a moment after the agent has ended. */
const END_MS = 100;

/**
 * Whether a sandbox counts as paused, also while a pause or a resume is in progress: its processes may end at
 * any moment.
 */
const isPaused = ({ phase }: SandboxRecord): boolean =>
  phase === 'pausing' || phase === 'paused' || phase === 'resuming';

const ended = (id: string): RuntimeError => new RuntimeError('unavailable', `sandbox ${id} has ended`);
