import { basename } from 'node:path';
import { ApiError } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Snapshotting } from '../sandboxes/snapshotting.ts';
import type { Store } from '../store/store.ts';
import { type Building, FOLLOWED_MS } from '../templates/building.ts';
import type { TemplateImages } from '../templates/template-images.ts';
import type { ContextStore } from '../templates/uploads/context-store.ts';
import { measureEntries } from './measure-entries.ts';

export type StorageKind = components['schemas']['StorageKind'];

/** What is kept of one kind. */
export interface StorageUsage {
  kind: StorageKind;
  count: number;
  sizeBytes: number;
  /** What `prune` with `all` removes. */
  reclaimableCount: number;
  reclaimableBytes: number;
}

/** The folders that are measured. */
export interface StorageFolders {
  templates: string;
  layers: string;
  baseImages: string;
  snapshots: string;
  sandboxes: string;
}

/** What the server keeps on its disk. */
export interface Storage {
  /** One entry for each kind, in the order of the document. Work meanwhile makes it inexact. */
  measure(): Promise<StorageUsage[]>;
  /**
   * Removes what nothing uses: uploaded files, logs of builds without a tag, images and snapshots without a record. With `all`,
   * also the cache of builds, and the built templates that nothing uses. Resolves with the names of these, and with what has
   * become less.
   */
  prune(options: { all: boolean }): Promise<{
    templates: string[];
    removed: Pick<StorageUsage, 'kind' | 'count' | 'sizeBytes'>[];
  }>;
}

export interface StorageOptions {
  store: Store;
  building: Pick<Building, 'delete' | 'collect' | 'pruneCached'>;
  snapshotting: Pick<Snapshotting, 'collect'>;
  contexts: ContextStore | undefined;
  images: TemplateImages | undefined;
  folders: StorageFolders | undefined;
  clock: Pick<Clock, 'now'>;
  log: Log;
}

const toSum = (sizes: Iterable<number>): number => [...sizes].reduce((sum, size) => sum + size, 0);

/** A name in a folder, and the space that it takes. */
type Entry = [name: string, sizeBytes: number];

/** Those of which it is true, and the others. */
const partition = (entries: readonly Entry[], isFirst: (name: string) => boolean): [Entry[], Entry[]] => [
  entries.filter(([name]) => isFirst(name)),
  entries.filter(([name]) => !isFirst(name)),
];

const toUsage = (
  kind: StorageKind,
  entries: readonly Entry[],
  isReclaimable: (name: string) => boolean = () => false,
): StorageUsage => {
  const free = entries.filter(([name]) => isReclaimable(name));
  return {
    kind,
    count: entries.length,
    sizeBytes: toSum(entries.map(([, size]) => size)),
    reclaimableCount: free.length,
    reclaimableBytes: toSum(free.map(([, size]) => size)),
  };
};

const nothing = { count: 0, sizeBytes: 0, reclaimableCount: 0, reclaimableBytes: 0 };

export const createStorage = (options: StorageOptions): Storage => {
  const { store, building, snapshotting, contexts, images, folders, clock, log } = options;

  const listEntries = async (folder: string | undefined): Promise<Entry[]> =>
    // What is in the making has a name of that form.
    folder === undefined ? [] : [...(await measureEntries(folder))].filter(([name]) => !name.startsWith('.'));

  const measure = async (): Promise<StorageUsage[]> => {
    const unused = new Set((await store.listUnusedTemplates()).map(({ id }) => id));
    const builds = await store.listKeptBuilds();
    const kept = builds.filter(({ templateId }) => !unused.has(templateId));
    const checkpoints = new Set(
      builds.filter(({ templateId }) => unused.has(templateId)).map(({ checkpointId }) => checkpointId),
    );
    const toFile = (digest: string) => images && basename(images.toPath(digest));
    const keptFiles = new Set(kept.map(({ image }) => toFile(image)));
    const cached = await store.listCached();
    // An image that a build has too is counted there.
    const cachedFiles = new Set(
      cached.flatMap(({ image, isImageShared }) => (image === null || isImageShared ? [] : [toFile(image)])),
    );
    const cachedSnapshots = new Set(cached.map(({ snapshotId }) => snapshotId));
    const [ofCache, ofTemplates] = partition(await listEntries(folders?.templates), (name) =>
      cachedFiles.has(name),
    );
    const [stepFiles, snapshots] = partition(await listEntries(folders?.snapshots), (name) =>
      cachedSnapshots.has(name),
    );
    const known = new Set(
      (await Promise.all([store.listSnapshotIds('making'), store.listSnapshotIds('ready')])).flat(),
    );
    const uploads = await contexts?.measure();
    const logs = await store.measureLogs({ endedBefore: clock.now() - FOLLOWED_MS });
    const { unneededCount, unneededBytes, ...buildLogs } = logs.builds;
    return [
      toUsage('templates', ofTemplates, (name) => !keptFiles.has(name)),
      toUsage('buildCache', [...ofCache, ...stepFiles, ...(await listEntries(folders?.layers))], () => true),
      toUsage('baseImages', await listEntries(folders?.baseImages)),
      uploads === undefined
        ? { kind: 'contexts', ...nothing }
        : {
            kind: 'contexts',
            count: uploads.count,
            sizeBytes: uploads.sizeBytes,
            reclaimableCount: uploads.unneededCount,
            reclaimableBytes: uploads.unneededBytes,
          },
      toUsage('snapshots', snapshots, (name) => checkpoints.has(name) || !known.has(name)),
      toUsage('sandboxes', await listEntries(folders?.sandboxes)),
      { kind: 'buildLogs', ...buildLogs, reclaimableCount: unneededCount, reclaimableBytes: unneededBytes },
      { kind: 'sandboxLogs', ...nothing, ...logs.sandboxes },
    ];
  };

  const removeTemplates = async (): Promise<string[]> => {
    const removed: string[] = [];
    for (const { id, name } of await store.listUnusedTemplates()) {
      try {
        await building.delete({ templateId: id });
        removed.push(name ?? id);
      } catch (error) {
        // A sandbox of it was created meanwhile, or it was deleted.
        if (!(error instanceof ApiError)) throw error;
      }
    }
    return removed;
  };

  return {
    measure,
    prune: async ({ all }) => {
      // An image that only the cache needs from then on would count as a removed one of a template.
      await store.retireImages();
      const before = await measure();
      await contexts?.prune();
      if (all) await building.pruneCached({ unusedForMs: 0 });
      await store.pruneBuildLogs({ keepPerTemplate: 0, endedBefore: clock.now() - FOLLOWED_MS });
      const templates = all ? await removeTemplates() : [];
      await snapshotting.collect();
      await building.collect();
      const after = new Map((await measure()).map((usage) => [usage.kind, usage]));
      const removed = before
        .map(({ kind, count, sizeBytes }) => ({
          kind,
          count: Math.max(0, count - (after.get(kind)?.count ?? 0)),
          sizeBytes: Math.max(0, sizeBytes - (after.get(kind)?.sizeBytes ?? 0)),
        }))
        .filter(({ count }) => count > 0);
      log.info('storage pruned', { all, templates: templates.length });
      return { templates, removed };
    },
  };
};
