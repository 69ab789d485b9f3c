import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncPath } from '../../kernel/sync-path.ts';
import type { InstanceSettings, SnapshotId } from '../../runtime.ts';
import type { Checkpoint } from './criu/checkpoint.ts';
import type { KeptDisk } from './disk/kept-disk.ts';
import type { RecordedLevel } from './levels.ts';

/** What is on disk about a sandbox before any of it exists, so that a process after a crash finds all of it. */
export interface SandboxRecord {
  version: 1;
  /** The settings, and the image below the sandbox's own files, also when it began as a copy. */
  spec: InstanceSettings & { rootfs: string };
  /** The snapshot that its disk was copied from. */
  snapshot?: SnapshotId;
  /** Assigned once, at the create. */
  birthId: string;
  runId: string;
  /**
   * The level of the present run, or of the last one; absent for `container`. No later run has a lower level.
   */
  level?: NonNullable<RecordedLevel['level']>;
  /** The slot of the present run, or of the last one. A paused sandbox has none reserved. */
  slot: number;
  /**
   * The host's id for root on the disk: the one of the first run, of the sandbox that the disk was first made for.
   * Later runs in another slot see it shifted.
   */
  diskBaseId: number;
  /** What is bound to `/.envd` in the present run; processes that are kept have files of it open. */
  agentDir?: string;
  phase: Phase;
  /** The disk as it was at the end of the pause. Set while paused. */
  kept?: KeptDisk;
  /** Set while its processes are kept, too. */
  memory?: Checkpoint;
}

/**
 * - `starting`: not complete, and can only be removed.
 * - `ready`: the agent inside has answered. When no process is alive the sandbox has died.
 * - `pausing`: its processes are about to end, or have ended. Can only be paused.
 * - `paused`: only its folder remains, and that is on the medium.
 * - `resuming`: its next run does not exist yet. Can only be paused again.
 */
export type Phase = 'starting' | 'ready' | 'pausing' | 'paused' | 'resuming';

/**
 * Replaces the record in one rename, so that no reader sees half of it. It is not synced: after a power cut, what it
 * names (mounts, processes, interfaces) does not exist either, and the rest is in the same folder.
 */
export const writeRecord = async (path: string, record: SandboxRecord): Promise<void> => {
  const next = `${path}.next`;
  // Write synchronously, which only goes into the page cache: handing the write to another thread takes
  // several times the work.
  writeFileSync(next, JSON.stringify(record), { mode: 0o600 });
  renameSync(next, path);
};

/**
 * Replaces the record of a sandbox or a snapshot in one rename, and resolves when the record and its name are
 * on the medium.
 */
export const keepRecord = async (path: string, record: { version: 1; phase: string }): Promise<void> => {
  const next = `${path}.next`;
  await writeFile(next, JSON.stringify(record), { mode: 0o600, flush: true });
  await rename(next, path);
  const folder = dirname(path);
  // Sync all at the same time: a disk flushes once for all that wait.
  await Promise.all([folder, dirname(folder), dirname(dirname(folder))].map(syncPath));
};

/** Undefined when there is none: the maker of the sandbox ended before it had written one. */
export const readRecord = async (path: string): Promise<SandboxRecord | undefined> => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as SandboxRecord;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Only a power cut leaves a file that is not JSON, and after it nothing of the sandbox runs.
    if (code === 'ENOENT' || code === 'ENOTDIR' || error instanceof SyntaxError) return undefined;
    throw error;
  }
};
