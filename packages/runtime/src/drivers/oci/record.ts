import { renameSync, writeFileSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncPath } from '../../kernel/sync-path.ts';
import type { InstanceSettings, SnapshotId } from '../../runtime.ts';
import type { Checkpoint } from './criu/checkpoint.ts';
import type { KeptDisk } from './disk/kept-disk.ts';

/** What is on disk about a sandbox before anything of it exists, so that whoever comes after a crash finds all of it. */
export interface SandboxRecord {
  version: 1;
  /** With the image below its own files, whatever it began with. */
  spec: InstanceSettings & { rootfs: string };
  /** What its disk was copied from. */
  snapshot?: SnapshotId;
  /** Given once, at the create. */
  birthId: string;
  runId: string;
  /** Of the present run, or of the last one; absent for `container`. It never gets a run of less than that. */
  level?: 'gvisor';
  /** Of the present run, or of the last one. A paused sandbox holds none. */
  slot: number;
  /**
   * The host's id for root on the disk: the one of the first run, of the sandbox that the disk was first made for. Later
   * runs in another slot see it shifted.
   */
  diskBaseId: number;
  /** What is bound to `/.envd` in the present run; processes that are kept hold files of it. */
  agentDir?: string;
  phase: Phase;
  /** What the disk was like when the pause was done. There while paused. */
  kept?: KeptDisk;
  /** There while its processes are kept, too. */
  memory?: Checkpoint;
}

/**
 * - `starting`: not made yet, only good to be removed.
 * - `ready`: the agent inside has answered. With nothing alive it has died.
 * - `pausing`: its processes are about to end, or have. Only good to be paused.
 * - `paused`: nothing is left but its folder, and that is on the medium.
 * - `resuming`: its next run is not made yet. Only good to be paused again.
 */
export type Phase = 'starting' | 'ready' | 'pausing' | 'paused' | 'resuming';

/**
 * Replaces the record in one rename, so that no reader sees half of it. It is not forced to the medium: what it leads
 * to (mounts, processes, interfaces) is gone after a power cut anyway, and the rest lies in the same folder.
 */
export const writeRecord = async (path: string, record: SandboxRecord): Promise<void> => {
  const next = `${path}.next`;
  // Into the kernel's memory: handing it to other threads takes several times the work.
  writeFileSync(next, JSON.stringify(record), { mode: 0o600 });
  renameSync(next, path);
};

/** As `writeRecord`, of a sandbox or a snapshot, and resolves when the record and its name are on the medium. */
export const keepRecord = async (path: string, record: { version: 1; phase: string }): Promise<void> => {
  const next = `${path}.next`;
  await writeFile(next, JSON.stringify(record), { mode: 0o600, flush: true });
  await rename(next, path);
  const folder = dirname(path);
  // At the same time: a disk has one flush for all that wait for one.
  await Promise.all([folder, dirname(folder), dirname(dirname(folder))].map(syncPath));
};

/** Undefined when there is none: the sandbox's maker was ended before it had written one. */
export const readRecord = async (path: string): Promise<SandboxRecord | undefined> => {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as SandboxRecord;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A file that is no JSON can only be from a power cut, after which nothing of the sandbox runs.
    if (code === 'ENOENT' || code === 'ENOTDIR' || error instanceof SyntaxError) return undefined;
    throw error;
  }
};
