import { isRuntimeError, RuntimeLostError } from '@skerry/runtime';
import type { Clock } from '../../clock.ts';
import type { HostedInstance, Hosts } from '../../hosts/hosts.ts';
import type { TemplateImages } from '../../images/template-images.ts';
import type { Limits } from '../../limits.ts';
import type { Log } from '../../log.ts';
import type { Snapshotter } from '../../sandboxes/snapshotter.ts';
import type { BuildRow } from '../../store/build-rows.ts';
import type { CacheEntry, ImageConfig, NewCacheEntry } from '../../store/cache/cache-rows.ts';
import type { Store } from '../../store/store.ts';
import { listLayers } from './layer-results.ts';
import { toEvict } from './to-evict.ts';

/** A result as its owner sees it. */
export interface CachedResult extends CacheEntry {
  /** What its removal frees, alone: an image that a template needs too does not count. */
  sizeBytes: number;
}

type CacheSlot = Pick<NewCacheEntry, 'key' | 'parent' | 'description'>;
type Image = { image: string; imageBytes: number };

/** The results of steps of builds, the images that builds begin with, and the layers of those. */
export interface BuildCache {
  /** The last of these keys that has a result; it and those that it was made on are used now. */
  findLast(keys: readonly string[]): Promise<{ index: number; entry: CacheEntry } | undefined>;
  /**
   * Keeps the files that a build's sandbox has now. Resolves with undefined, or with the reason why they are not kept, in which case no
   * earlier result of that key is left either. Rejects when the runtime is lost or `signal` aborted.
   */
  keepFiles(
    hosted: HostedInstance,
    slot: CacheSlot,
    options: { build: BuildRow; signal: AbortSignal },
  ): Promise<string | undefined>;
  /** Keeps an image that was made after the last step of a build; `isNew` when that step ran for it. */
  keepResult(image: Image, slot: CacheSlot, options: { isNew: boolean }): Promise<void>;
  /** Keeps an image with which builds begin. */
  keepBase(base: Image & { config: ImageConfig | null }, slot: Omit<CacheSlot, 'parent'>): Promise<void>;
  /** The one that was used last first. */
  list(): Promise<CachedResult[]>;
  /** Removes results, and all that were made on them. Resolves with the keys that it has removed. */
  remove(keys: readonly string[]): Promise<string[]>;
  /** Removes those that were not used for so long. Resolves with the keys that it has removed. */
  prune(options: { unusedForMs: number }): Promise<string[]>;
  /** Removes what is beyond the limits of space, number and age, the least recently used first. */
  evict(): Promise<void>;
}

export interface BuildCacheOptions {
  store: Store;
  hosts: Pick<Hosts, 'snapshots' | 'features'>;
  snapshotter: Pick<Snapshotter, 'captureFiles' | 'release'>;
  images: { templates?: Pick<TemplateImages, 'listLayers' | 'removeLayer'> | undefined };
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'buildCacheMb'>;
}

const MAX_UNUSED_MS = 30 * 24 * 60 * 60_000;
/** All of them are one answer of the API. */
const MAX_COUNT = 1_000;
const MAX_DESCRIPTION_LENGTH = 200;

export const createBuildCache = (options: BuildCacheOptions): BuildCache => {
  const { store, hosts, snapshotter, images, clock, log, limits } = options;
  const isOn = limits.buildCacheMb > 0;

  const keep = (
    { description, ...slot }: CacheSlot,
    what: Pick<NewCacheEntry, 'snapshotId' | 'image' | 'imageBytes'> & { config?: ImageConfig | null },
    { replaces }: { replaces: boolean },
  ): Promise<boolean> => {
    const shown = description.slice(0, MAX_DESCRIPTION_LENGTH).toWellFormed();
    const entry = { config: null, ...slot, ...what, description: shown, createdAt: clock.now() };
    return store.keepCached(entry, { replaces });
  };

  const list = async (): Promise<CachedResult[]> => {
    const entries = await store.listCached();
    const sizeOf = new Map<string, number>();
    if (entries.some(({ snapshotId }) => snapshotId !== null))
      for await (const { snapshot } of hosts.snapshots()) sizeOf.set(snapshot.id, snapshot.sizeBytes);
    const results = entries.map((entry) => {
      const { snapshotId, imageBytes, isImageShared } = entry;
      const filesBytes = snapshotId === null ? 0 : (sizeOf.get(snapshotId) ?? 0);
      return { ...entry, sizeBytes: filesBytes + (isImageShared ? 0 : (imageBytes ?? 0)) };
    });
    const layers = await listLayers(images.templates);
    // Stable: what was made on another result stays before that.
    return [...results, ...layers.map(({ result }) => result)].toSorted(
      (one, other) => other.lastUsedAt - one.lastUsedAt,
    );
  };

  const remove = async (keys: readonly string[]): Promise<string[]> => {
    const removed = await store.removeCached(keys);
    for (const { result, digest } of await listLayers(images.templates)) {
      if (!keys.includes(result.key)) continue;
      await images.templates?.removeLayer(digest);
      removed.push(result.key);
    }
    return removed;
  };

  const toReason = (error: unknown): string => {
    if (isRuntimeError(error, 'exhausted')) return 'the host has too little room';
    if (isRuntimeError(error, 'unsupported')) return 'it has too many files, or folders nested too deeply';
    return 'its files could not be captured';
  };

  return {
    findLast: async (keys) => {
      const entries = new Map((await store.findCached(keys)).map((entry) => [entry.key, entry]));
      const index = keys.findLastIndex((key) => entries.has(key));
      const entry = entries.get(keys[index] ?? '');
      if (entry === undefined) return undefined;
      await store.touchCached(entry.key, clock.now());
      return { index, entry };
    },
    keepFiles: async (hosted, slot, { build, signal }) => {
      if (!isOn) return 'this server keeps no results';
      if (!hosts.features.snapshot.filesystem) return 'this host cannot capture files';
      let snapshotId: string;
      try {
        snapshotId = await snapshotter.captureFiles(hosted, build);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof RuntimeLostError) throw error;
        await store.removeCached([slot.key]);
        log.warn('the files of a step could not be kept', { buildId: build.id, key: slot.key, error });
        return toReason(error);
      }
      try {
        const kept = await keep(slot, { snapshotId, image: null, imageBytes: null }, { replaces: true });
        return kept ? undefined : 'what it was made on was removed meanwhile';
      } finally {
        await snapshotter.release(snapshotId);
      }
    },
    keepResult: async (image, slot, { isNew }) => {
      if (isOn) await keep(slot, { snapshotId: null, ...image }, { replaces: isNew });
    },
    keepBase: async ({ image, imageBytes, config }, slot) => {
      if (!isOn) return;
      const [before] = await store.findCached([slot.key]);
      // The files of steps lie over the image of their base, and not over another one.
      const replaces = before !== undefined && before.image !== image;
      await keep({ ...slot, parent: null }, { snapshotId: null, image, imageBytes, config }, { replaces });
    },
    list,
    remove,
    prune: async ({ unusedForMs }) => {
      const since = clock.now() - unusedForMs;
      return remove((await list()).filter(({ lastUsedAt }) => lastUsedAt <= since).map(({ key }) => key));
    },
    evict: async () => {
      const bounds = {
        maxBytes: limits.buildCacheMb * 2 ** 20,
        maxCount: isOn ? MAX_COUNT : 0,
        usedSince: clock.now() - MAX_UNUSED_MS,
      };
      await remove(toEvict(await list(), bounds));
    },
  };
};
