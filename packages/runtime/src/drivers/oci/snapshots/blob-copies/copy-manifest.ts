import { type CopyId, toCopyPrefix } from '../../../../blob-copies/snapshot-copies.ts';
import type { SnapshotId } from '../../../../runtime.ts';
import type { CompatibilityClass } from '../../compatibility/compatibility-class.ts';
import type { Checkpoint, MemoryImages } from '../../criu/checkpoint.ts';
import type { ManifestSummary } from '../manifest.ts';
import type { SnapshotContents } from '../snapshot-record.ts';

/** The description of a snapshot in a blob store. It is stored last: where it is, everything that it names is, too. */
export interface CopyManifest {
  version: 1;
  /** The one that was stored. A host that reads it back may have it under another id. */
  snapshot: SnapshotId;
  /** The part of its record that does not depend on a host. */
  contents: Pick<SnapshotContents, 'sandbox' | 'parent' | 'diskBaseId' | 'diskBytes' | 'level'>;
  /** The digest of the image below the snapshot's files. */
  templateDigest: string;
  /** The disk, with the hash of its content, see `hashSparse`. */
  disk: CopiedFile & { sha256: string };
  /** Absent: its files are not listed. */
  list?: CopiedFile & ManifestSummary;
  /** Present where its processes are captured too. */
  memory?: CopiedMemory;
}

export interface CopiedMemory {
  class: CompatibilityClass;
  checkpoint: Pick<Checkpoint, 'livenessPipeId' | 'bootId' | 'needsNetwork' | 'hostBootId'>;
  usernsName?: string;
  fingerprints: NonNullable<MemoryImages['fingerprints']>;
  files: (CopiedFile & { name: string })[];
}

/** A file in parts, in their order. What no part covers is zeros. */
export interface CopiedFile {
  sizeBytes: number;
  parts: CopiedPart[];
}

/** A part is a blob under its digest, compressed by zstd. */
export interface CopiedPart {
  offset: number;
  sizeBytes: number;
  /** The hash of the bytes before they are compressed, in hex. */
  sha256: string;
  /** The size of the blob. */
  storedBytes: number;
}

/** The number of bytes of a file in one part, but for the last one. */
export const PART_BYTES = 4 * 2 ** 20;

/** More than the parts of a disk of a terabyte take. */
export const MAX_MANIFEST_BYTES = 64 * 2 ** 20;

export const toPartsPrefix = (copy: CopyId): string => `${toCopyPrefix(copy)}parts/`;

export const toPartKey = (copy: CopyId, sha256: string): string => `${toPartsPrefix(copy)}${sha256}`;

/** All files of a snapshot. */
export const listCopiedFiles = ({ disk, list, memory }: CopyManifest): CopiedFile[] => [
  disk,
  ...(list ? [list] : []),
  ...(memory?.files ?? []),
];
