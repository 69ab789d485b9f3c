import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { BlobStore } from '@skerry/blobs';
import {
  type CopyId,
  type SnapshotCopy,
  type StoreOptions,
  toManifestKey,
} from '../../../../blob-copies/snapshot-copies.ts';
import { RuntimeError } from '../../../../error.ts';
import { isInstanceId } from '../../../../instance-id.ts';
import type { SnapshotId } from '../../../../runtime.ts';
import { digestAgentFolder } from '../../compatibility/agent-digest.ts';
import { verifyImages } from '../../criu/checkpoint.ts';
import { requireSealedDisk } from '../../disk/sealed-disk.ts';
import { type SnapshotFolder, toSnapshotFolder } from '../../folder.ts';
import { readSealedSnapshot, type SealedSnapshot } from '../snapshot-record.ts';
import {
  type CopiedMemory,
  type CopyManifest,
  listCopiedFiles,
  toPartKey,
  toPartsPrefix,
} from './copy-manifest.ts';
import { type PartsTarget, writeParts } from './write-parts.ts';

/** See `SnapshotCopies.write`. */
export const storeSnapshot = async (
  dataDir: string,
  id: SnapshotId,
  options: StoreOptions,
): Promise<SnapshotCopy> => {
  const { blobs, copy, templateDigest, signal } = options;
  const folder = toSnapshotFolder(dataDir, id);
  const sealed = isInstanceId(id) ? await readSealedSnapshot(folder.record) : undefined;
  if (sealed === undefined) throw new RuntimeError('not_found', `no snapshot ${id}`);
  await requireSealedDisk(folder.image, sealed.disk);
  if (sealed.memory?.images) await verifyImages(folder.memory, sealed.memory.images);
  const target: PartsTarget = {
    blobs,
    toKey: (sha256) => toPartKey(copy, sha256),
    stored: await listParts(copy, { blobs, signal }),
    signal,
  };
  const { sandbox, parent, diskBaseId, diskBytes, level } = sealed;
  // First, since that may be refused.
  const memory = await writeMemory(folder, sealed, { target, templateDigest });
  const manifest: CopyManifest = {
    version: 1,
    snapshot: id,
    contents: {
      sandbox,
      ...(parent !== undefined && { parent }),
      diskBaseId,
      diskBytes,
      ...(level !== undefined && { level }),
    },
    templateDigest,
    disk: { ...(await writeParts(folder.image, target)), sha256: sealed.disk.sha256 },
    ...(sealed.manifest && { list: { ...(await writeParts(folder.manifest, target)), ...sealed.manifest } }),
    ...(memory && { memory }),
  };
  const bytes = Buffer.from(JSON.stringify(manifest));
  await blobs.put(toManifestKey(copy), Readable.from([bytes]), { sizeBytes: bytes.length, signal });
  const parts = listCopiedFiles(manifest).flatMap((file) => file.parts);
  const sizes = new Map(parts.map(({ sha256, storedBytes }) => [sha256, storedBytes]));
  return {
    manifestSha256: createHash('sha256').update(bytes).digest('hex'),
    sizeBytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
  };
};

const listParts = async (
  copy: CopyId,
  { blobs, signal }: { blobs: BlobStore; signal: AbortSignal | undefined },
): Promise<Map<string, number>> => {
  const prefix = toPartsPrefix(copy);
  const stored = new Map<string, number>();
  for await (const { key, sizeBytes } of blobs.list(prefix, { signal }))
    stored.set(key.slice(prefix.length), sizeBytes);
  return stored;
};

const writeMemory = async (
  folder: SnapshotFolder,
  { memory, agentDir }: SealedSnapshot,
  { target, templateDigest }: { target: PartsTarget; templateDigest: string },
): Promise<CopiedMemory | undefined> => {
  if (memory === undefined) return undefined;
  const { madeOn, images, livenessPipeId, bootId, needsNetwork, hostBootId } = memory;
  if (madeOn === undefined || agentDir === undefined || images?.fingerprints === undefined)
    throw new RuntimeError('unsupported', 'only the host that has written this memory can restore it');
  const files: CopiedMemory['files'] = [];
  for (const { name } of images.files)
    files.push({ name, ...(await writeParts(`${folder.memory}/${name}`, target)) });
  return {
    class: { ...madeOn, templateDigest, agentDigest: await digestAgentFolder(agentDir) },
    checkpoint: {
      hostBootId,
      ...(livenessPipeId !== undefined && { livenessPipeId }),
      ...(bootId !== undefined && { bootId }),
      ...(needsNetwork !== undefined && { needsNetwork }),
    },
    ...(images.usernsName !== undefined && { usernsName: images.usernsName }),
    fingerprints: images.fingerprints,
    files,
  };
};
