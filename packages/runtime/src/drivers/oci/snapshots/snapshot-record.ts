import { readFile } from 'node:fs/promises';
import type { SnapshotId } from '../../../runtime.ts';
import type { Checkpoint } from '../criu/checkpoint.ts';
import type { SealedDisk } from '../disk/sealed-disk.ts';
import type { RecordedLevel } from '../levels.ts';
import type { SandboxRecord } from '../record.ts';
import type { ManifestSummary } from './manifest.ts';

/** What is on disk about a snapshot before any of it exists. */
export type SnapshotRecord =
  /** Incomplete: can only be removed. */
  { version: 1; phase: 'capturing' } | SealedSnapshot;

/** A snapshot that is complete and on the medium. It never changes. */
export interface SealedSnapshot extends SnapshotContents {
  version: 1;
  phase: 'sealed';
  disk: SealedDisk;
  /** Undefined: its files are not listed. */
  manifest?: ManifestSummary;
}

/** What a sandbox needs to start from it. */
export interface SnapshotContents {
  /** The sandbox that it was made of, and the snapshot that one had started from. */
  sandbox: string;
  parent?: SnapshotId;
  /** The image below its files. */
  rootfs: string;
  diskBaseId: number;
  diskBytes: number;
  /** The level in the record of that sandbox: nothing that starts from it gets a lower level. */
  level?: NonNullable<RecordedLevel['level']>;
  /** Set where the processes were captured, too. */
  memory?: Checkpoint;
  /** The folder bound to `/.envd` for these. */
  agentDir?: string;
}

/** The sandbox that was captured, and its processes where requested. */
export interface Captured {
  record: SandboxRecord;
  memory: Checkpoint | undefined;
}

export const toContents = (source: SandboxRecord, memory: Checkpoint | undefined): SnapshotContents => ({
  sandbox: source.spec.id,
  ...(source.snapshot !== undefined && { parent: source.snapshot }),
  rootfs: source.spec.rootfs,
  diskBaseId: source.diskBaseId,
  diskBytes: source.spec.limits.diskBytes,
  ...(source.level !== undefined && { level: source.level }),
  ...(memory && { memory, ...(source.agentDir !== undefined && { agentDir: source.agentDir }) }),
});

/** Undefined unless there is a complete snapshot. */
export const readSealedSnapshot = async (path: string): Promise<SealedSnapshot | undefined> => {
  try {
    const record = JSON.parse(await readFile(path, 'utf8')) as SnapshotRecord;
    return record.phase === 'sealed' ? record : undefined;
  } catch (error) {
    // Only a power cut during its making leaves a file that is not JSON.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
};
