import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { ForeignMemory } from '@skerry/contract/foreign-memory';
import { type FetchOptions, toManifestKey } from '../../../../blob-copies/snapshot-copies.ts';
import { RuntimeError } from '../../../../error.ts';
import { syncPath } from '../../../../kernel/sync-path.ts';
import type { SnapshotId } from '../../../../runtime.ts';
import { checkFileSystem } from '../../../check-file-system.ts';
import { digestAgentFolder } from '../../compatibility/agent-digest.ts';
import { findClassDifferences } from '../../compatibility/compare-classes.ts';
import { type Checkpoint, listImages, type MemoryImages, verifyImages } from '../../criu/checkpoint.ts';
import { requireConfined } from '../../criu/images/require-confined.ts';
import { requireRoomFor } from '../../disk/require-room.ts';
import { describeSealedDisk } from '../../disk/sealed-disk.ts';
import type { SnapshotFolder } from '../../folder.ts';
import type { OciHost } from '../../host.ts';
import { levels } from '../../levels.ts';
import { chooseLevel, openedLevel } from '../../opened-levels.ts';
import { readManifest } from '../manifest.ts';
import type { SealedSnapshot } from '../snapshot-record.ts';
import { toStoreFailure } from './blob-failure.ts';
import {
  type CopiedMemory,
  type CopyManifest,
  listCopiedFiles,
  MAX_MANIFEST_BYTES,
  toPartKey,
} from './copy-manifest.ts';
import { parseCopyManifest } from './parse-manifest.ts';
import { type PartsSource, readParts } from './read-parts.ts';

interface Options extends FetchOptions {
  /** The agent's folder on this host. */
  agentDir: string;
  foreignMemory: ForeignMemory;
}

/** See `SnapshotCopies.read`. */
export const fetchSnapshot = async (host: OciHost, id: SnapshotId, options: Options): Promise<void> => {
  const { blobs, copy, signal, rootfs } = options;
  const manifest = await readCopyManifest(options);
  await requireCompatible(host, manifest, options);
  const sizes = listCopiedFiles(manifest).flatMap(({ parts }) => parts.map(({ sizeBytes }) => sizeBytes));
  requireRoomFor(
    host.dataDir,
    sizes.reduce((sum, size) => sum + size, 0),
  );
  const source: PartsSource = { blobs, toKey: (sha256) => toPartKey(copy, sha256), signal };
  const write = async (folder: SnapshotFolder): Promise<SealedSnapshot> => {
    const { disk, list, contents } = manifest;
    await readParts(folder.image, disk, source);
    await checkFileSystem(folder.image, { signal });
    const sealed = await describeSealedDisk(folder.image);
    if (sealed.sha256 !== disk.sha256)
      throw new RuntimeError('damaged', `the hash of its disk is ${sealed.sha256} and was ${disk.sha256}`);
    const summary = list && { sha256: list.sha256, entryCount: list.entryCount };
    if (list && summary) {
      await readParts(folder.manifest, list, source);
      await readManifest(folder.manifest, summary);
    }
    const memory = manifest.memory && (await fetchMemory(folder, manifest.memory, { source, host }));
    return {
      version: 1,
      phase: 'sealed',
      ...contents,
      rootfs,
      disk: sealed,
      ...(summary && { manifest: summary }),
      ...(memory && { memory, agentDir: options.agentDir }),
    };
  };
  await host.snapshots.adopt(id, (folder) =>
    write(folder).catch((error: unknown) => {
      throw toStoreFailure(error, `fetching snapshot ${id}`);
    }),
  );
};

const readCopyManifest = async ({ blobs, copy, manifestSha256, signal }: Options): Promise<CopyManifest> => {
  const { sizeBytes, body } = await blobs.get(toManifestKey(copy), { signal });
  if (sizeBytes > MAX_MANIFEST_BYTES) {
    body.destroy();
    throw new RuntimeError('damaged', `the manifest of the copy ${copy} has ${sizeBytes} bytes`);
  }
  const bytes = await buffer(body);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== manifestSha256)
    throw new RuntimeError('damaged', `the manifest of the copy ${copy} is not the one that was stored`);
  return parseCopyManifest(bytes.toString('utf8'));
};

const requireCompatible = async (
  host: OciHost,
  { snapshot, templateDigest, memory }: CopyManifest,
  options: Options,
): Promise<void> => {
  if (templateDigest !== options.templateDigest)
    throw new RuntimeError('unsupported', `snapshot ${snapshot} needs the image ${templateDigest}`);
  if (memory === undefined) return;
  if (options.foreignMemory === 'refuse')
    throw new RuntimeError(
      'unsupported',
      'this node restores no memory that another host may have written: --foreign-memory refuse',
    );
  const level = await chooseLevel(host, [memory.class.level], `snapshot ${snapshot}`);
  const { readClass } = openedLevel(host, level.recorded);
  const [hostClass, agentDigest] = await Promise.all([readClass(), digestAgentFolder(options.agentDir)]);
  const here = hostClass && { ...hostClass, templateDigest, agentDigest };
  const reasons = findClassDifferences(memory.class, here);
  if (reasons.length > 0)
    throw new RuntimeError(
      'unsupported',
      `the memory of snapshot ${snapshot} cannot be restored on this host: ${reasons.join('; ')}`,
    );
};

const fetchMemory = async (
  folder: SnapshotFolder,
  { class: made, checkpoint, usernsName, fingerprints, files }: CopiedMemory,
  { source, host }: { source: PartsSource; host: OciHost },
): Promise<Checkpoint> => {
  await mkdir(folder.memory, { mode: 0o700 });
  for (const file of files) await readParts(`${folder.memory}/${file.name}`, file, source);
  await syncPath(folder.memory);
  const images: MemoryImages = {
    ...(usernsName !== undefined && { usernsName }),
    files: listImages(folder.memory).files,
    fingerprints,
  };
  await verifyImages(folder.memory, images);
  // The host can do nothing with the images of a sentry but give them to one.
  const { checkpointer, recorded } = levels[made.level];
  if (checkpointer === 'criu') {
    const { seccomp } = openedLevel(host, recorded);
    await requireConfined(folder.memory, {
      names: files.map(({ name }) => name),
      filter: 'program' in seccomp ? seccomp.program : undefined,
    });
  }
  const { templateDigest: _template, agentDigest: _agent, ...madeOn } = made;
  return { ...checkpoint, madeOn, images };
};
