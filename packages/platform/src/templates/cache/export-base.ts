import { isRuntimeError } from '@skerry/runtime';
import type { Hosts } from '../../hosts/hosts.ts';
import type { Ids } from '../../ids.ts';
import { BuildError } from '../build-error.ts';
import type { BuildSource } from '../build-plan.ts';
import type { BuildCache } from './build-cache.ts';
import { type BaseWork, findBase } from './find-base.ts';
import { keepImage } from './keep-image.ts';
import { toCacheKey } from './key-chain.ts';

/** The files of a snapshot as an image with which a build begins. */
export interface ExportedBase {
  image: string;
  imageBytes: number;
  cacheKey: string;
}

export interface ExportOptions {
  hosts: Pick<Hosts, 'ofSnapshot'>;
  cache: BuildCache;
  secret: string;
  ids: Pick<Ids, 'snapshotId'>;
}

/**
 * Resolves with the files of a snapshot as an image: one of the cache, since a snapshot never changes, or one that another build
 * is making now; otherwise, and with `force`, it is written. From then on nothing of the build needs the snapshot. Rejects with
 * `BuildError` when the snapshot is gone, damaged or cannot be read, the reason of `signal`, or what the runtime fails with.
 */
export const exportBase = async (
  { name, snapshot }: Pick<Extract<BuildSource, { kind: 'snapshot' }>, 'name' | 'snapshot'>,
  work: BaseWork,
  { hosts, cache, secret, ids }: ExportOptions,
): Promise<ExportedBase> => {
  const { log, share, signal, force } = work;
  const addLine = (message: string, level: 'debug' | 'info' = 'info'): void =>
    log.add({ level, message, step: 'base' });
  const key = toCacheKey(secret, ['snapshot', snapshot.id]);
  const found = await findBase(key, { ...work, work: 'reads the same snapshot', cache });
  const { image = null, imageBytes = null } = found ?? {};
  if (image !== null && imageBytes !== null) {
    addLine(`CACHED FROM snapshot ${name}`);
    addLine(`taken: the files are those of the result ${key}`, 'debug');
    return { image, imageBytes, cacheKey: key };
  }
  const reason = force
    ? 'the build is forced'
    : 'no build has begun with this snapshot, or the result was removed';
  addLine(`not CACHED ${key}: ${reason}`, 'debug');
  addLine('writing the files of the snapshot into an image');
  const fail = (error: unknown): never => {
    signal.throwIfAborted();
    throw toBuildError(name, error);
  };
  const host = await hosts.ofSnapshot(snapshot.id).catch(fail);
  const made = await keepImage(host, ids.snapshotId(), (path) =>
    host.runtime.snapshots.exportImage(snapshot.id, { path, signal }).catch(fail),
  );
  const exported = { image: made.digest, imageBytes: made.sizeBytes };
  await cache.keepBase({ ...exported, config: null }, { key, description: `FROM snapshot ${name}` });
  share.done(key);
  return { ...exported, cacheKey: key };
};

const toBuildError = (name: string, cause: unknown): unknown => {
  const toReason = (): string | undefined => {
    if (isRuntimeError(cause, 'not_found')) return 'was deleted';
    if (isRuntimeError(cause, 'damaged')) return 'is damaged';
    return isRuntimeError(cause, 'unsupported') ? `cannot be read: ${cause.message}` : undefined;
  };
  const reason = toReason();
  return reason === undefined ? cause : new BuildError('base', `the snapshot ${name} ${reason}`, { cause });
};
