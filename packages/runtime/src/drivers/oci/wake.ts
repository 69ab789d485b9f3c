import { RuntimeError } from '../../error.ts';
import { toSandboxFolder } from './folder.ts';
import type { OciHost } from './host.ts';
import type { Run } from './instance.ts';
import type { LifeLine } from './life-line.ts';
import { type KeptMemory, requireUntouched, verifyImages } from './memory-image.ts';
import { keepRecord, type SandboxRecord, writeRecord } from './record.ts';
import { restoreMemory } from './restore.ts';
import { toStartError } from './start-error.ts';

export interface WakeOptions {
  host: OciHost;
  record: SandboxRecord;
  /** Whose images are in the sandbox's folder. */
  memory: KeptMemory;
  agentDir: string;
  signal: AbortSignal;
  /** Mounts the disk at the folder's `disk`. */
  prepareDisk: () => Promise<void>;
}

/**
 * Makes the run that the record names out of memory that was kept. What was made is still there when it rejects: with
 * `damaged` when the images are not as they were.
 */
export const wakeSandbox = async (options: WakeOptions): Promise<Run> => {
  const { host, record, memory, agentDir, signal, prepareDisk } = options;
  const { id } = record.spec;
  const folder = toSandboxFolder(host.dataDir, id);
  const { images } = memory;
  if (!host.criu || !images)
    throw new RuntimeError('unsupported', 'this host cannot restore the memory of an instance');
  const isNew = record.phase === 'starting';
  let line: LifeLine | undefined;
  let damage: Promise<unknown> = Promise.resolve();
  try {
    // Beside the restore: it takes as long, and nothing runs until both are done. Those of a snapshot, of which any number
    // may be made at the same time, were looked at when that was opened.
    if (isNew) requireUntouched(folder.memory, images);
    damage = (isNew ? Promise.resolve() : verifyImages(folder.memory, images)).then(
      () => undefined,
      (error: unknown) => error,
    );
    // Another machine from here on, where the old one may run as well.
    const bootId = isNew ? `${record.runId}\n` : memory.bootId;
    const restored = { ...memory, images, ...(memory.bootId !== undefined && { bootId }) };
    line = await restoreMemory({
      ...{ host, criu: host.criu, record, memory: restored, agentDir, signal, prepareDisk },
    });
    if (await damage) throw await damage;
    const { memory: _, ...rest } = record;
    const ready: SandboxRecord = { ...rest, phase: 'ready', agentDir };
    // On the medium before anything runs: from then on what a pause has kept does not fit the disk any more.
    await (isNew ? writeRecord : keepRecord)(folder.record, ready);
    await host.cgroup(id).thaw();
    return { record: ready, line };
  } catch (error) {
    line?.close();
    throw (
      (await damage) ??
      (await toStartError(error, { step: `waking sandbox ${id}`, dataDir: host.dataDir, signal }))
    );
  }
};
