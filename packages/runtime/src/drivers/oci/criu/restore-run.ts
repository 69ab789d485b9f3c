import { RuntimeError } from '../../../error.ts';
import type { LivenessPipe } from '../container/liveness-pipe.ts';
import { waitForEntry } from '../container/ready.ts';
import { toSandboxFolder } from '../folder.ts';
import type { OciHost } from '../host.ts';
import type { Run } from '../instance.ts';
import { openedLevel } from '../opened-levels.ts';
import { keepRecord, type SandboxRecord, writeRecord } from '../record.ts';
import { startSandbox } from '../start.ts';
import { toStepError } from '../step-error.ts';
import { type Checkpoint, isCriuMemory, requireUntouched, verifyImages } from './checkpoint.ts';
import { restoreMemory } from './restore.ts';

export interface RestoreRunOptions {
  host: OciHost;
  record: SandboxRecord;
  /** The checkpoint, whose images are in the sandbox's folder. */
  memory: Checkpoint;
  agentDir: string;
  command: readonly string[];
  signal: AbortSignal;
  /** Mounts the disk at the folder's `disk`. */
  prepareDisk: () => Promise<void>;
}

/**
 * Makes the run that the record names from kept memory. When it rejects, what was made still exists: with `damaged`
 * when the images have changed.
 */
export const restoreSandbox = async (options: RestoreRunOptions): Promise<Run> => {
  const { host, record, memory, agentDir, signal } = options;
  const { id } = record.spec;
  const folder = toSandboxFolder(host.dataDir, id);
  const { images } = memory;
  const restore = images && toRestore(options);
  if (!images || !restore)
    throw new RuntimeError('unsupported', 'this host cannot restore the memory of an instance');
  const isNew = record.phase === 'starting';
  let line: LivenessPipe | undefined;
  let damage: Promise<unknown> = Promise.resolve();
  try {
    // The images of a snapshot, of which any number may be started at the same time, were verified when it was opened.
    if (isNew) requireUntouched(folder.memory, images);
    // Verify while CRIU restores: it takes as long, and nothing runs until both are done.
    const verify = (): void => {
      damage = verifyImages(folder.memory, images).then(
        () => undefined,
        (error: unknown) => error,
      );
    };
    line = await restore.make(isNew ? () => {} : verify);
    if (await damage) throw await damage;
    const { memory: _, ...rest } = record;
    const ready: SandboxRecord = { ...rest, phase: 'ready', agentDir };
    // Put the record on the medium before anything runs: from then on the kept memory does not match the disk
    // any more.
    await (isNew ? writeRecord : keepRecord)(folder.record, ready);
    await restore.begin();
    return { record: ready, line };
  } catch (error) {
    line?.close();
    throw (
      (await damage) ??
      (await toStepError(error, { step: `restoring sandbox ${id}`, dataDir: host.dataDir, signal }))
    );
  }
};

interface Restore {
  /**
   * Resolves when everything exists and is stopped. Calls `meanwhile` when it begins to read the images, which it does
   * not change.
   */
  make(meanwhile: () => void): Promise<LivenessPipe>;
  /** Resolves when it runs and the agent can be reached. */
  begin(): Promise<void>;
}

/** Undefined where this host cannot restore these images. */
const toRestore = (options: RestoreRunOptions): Restore | undefined => {
  const { host, record, memory, agentDir, command, signal, prepareDisk } = options;
  const { id } = record.spec;
  const folder = toSandboxFolder(host.dataDir, id);
  const { criu, sentry } = openedLevel(host, record);
  if (isCriuMemory(memory)) {
    // A new boot id from here on: the original sandbox may be running as well.
    const bootId = record.phase === 'starting' ? `${record.runId}\n` : memory.bootId;
    const restored = { ...memory, ...(memory.bootId !== undefined && { bootId }) };
    return (
      criu && {
        make: (meanwhile) =>
          restoreMemory({ host, criu, record, memory: restored, agentDir, signal, prepareDisk, meanwhile }),
        begin: () => host.cgroup(id).thaw(),
      }
    );
  }
  const imagesDir = folder.memory;
  const container = { id, folder, signal };
  return (
    sentry && {
      make: async (meanwhile) => {
        meanwhile();
        const line = await startSandbox({ host, record, agentDir, command, signal, prepareDisk, imagesDir });
        const { hostname } = record.spec;
        if (record.phase === 'starting') await sentry.rename({ ...container, hostname });
        return line;
      },
      begin: async () => {
        await sentry.release(container);
        await waitForEntry(folder.guest, 'control.sock', signal);
      },
    }
  );
};
