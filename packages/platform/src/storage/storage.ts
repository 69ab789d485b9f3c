import { ApiError } from '@skerry/contract/error';
import type { components } from '@skerry/platform-client';
import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Snapshotter } from '../sandboxes/snapshotter.ts';
import type { Store } from '../store/store.ts';
import { FOLLOWED_MS, type TemplateBuilder } from '../templates/template-builder.ts';
import type { ArchiveStore, ArchiveUsage } from '../templates/uploads/archive-store.ts';
import type { StorageMachine } from './storage-machines.ts';

export type StorageKind = components['schemas']['StorageKind'];

/** What is kept of one kind. */
export interface StorageUsage {
  kind: StorageKind;
  /** The node that has it; absent: the server. */
  node?: string;
  count: number;
  sizeBytes: number;
  /** What `prune` with `all` removes. */
  reclaimableCount: number;
  reclaimableBytes: number;
}

/** What the server keeps on its disk and those of its nodes. */
export interface Storage {
  /** One entry for each kind and machine, in the order of the document. Work meanwhile makes it inexact. */
  measure(): Promise<StorageUsage[]>;
  /**
   * Removes what nothing uses: uploaded files, logs of builds without a tag, images and snapshots without a record. With `all`,
   * also the cache of builds, and the built templates that nothing uses. Resolves with the names of these, and with what has
   * become less.
   */
  prune(options: { all: boolean }): Promise<{
    templates: string[];
    removed: Pick<StorageUsage, 'kind' | 'node' | 'count' | 'sizeBytes'>[];
  }>;
}

export interface StorageOptions {
  store: Store;
  templateBuilder: Pick<TemplateBuilder, 'delete' | 'collect' | 'pruneCached'>;
  snapshotter: Pick<Snapshotter, 'collect'>;
  buildFiles: ArchiveStore | undefined;
  /** What commands of builds keep, which counts as the cache of builds. */
  mountCaches: ArchiveStore | undefined;
  /** The machines that answer now. */
  machines(): StorageMachine[];
  clock: Pick<Clock, 'now'>;
  log: Log;
}

const toSum = (sizes: Iterable<number>): number => [...sizes].reduce((sum, size) => sum + size, 0);

/** A name in a folder, and the space that it takes. */
type Entry = [name: string, sizeBytes: number];

/** Returns the entries of which `isFirst` is true, and the others. */
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

/** The kinds in the order of the document. */
const storageKinds: readonly StorageKind[] = [
  'templates',
  'buildCache',
  'baseImages',
  'contexts',
  'snapshots',
  'sandboxes',
  'buildLogs',
  'sandboxLogs',
];

const nothing = { count: 0, sizeBytes: 0, reclaimableCount: 0, reclaimableBytes: 0 };

const toKept = (usage: ArchiveUsage | undefined): typeof nothing =>
  usage === undefined
    ? nothing
    : {
        count: usage.count,
        sizeBytes: usage.sizeBytes,
        reclaimableCount: usage.unneededCount,
        reclaimableBytes: usage.unneededBytes,
      };

/** One usage for each kind on each machine. */
const merge = (usages: readonly StorageUsage[]): StorageUsage[] => {
  const merged = new Map<string, StorageUsage>();
  for (const usage of usages) {
    const key = JSON.stringify([usage.node, usage.kind]);
    const { count, sizeBytes, reclaimableCount, reclaimableBytes } = merged.get(key) ?? nothing;
    merged.set(key, {
      ...usage,
      count: usage.count + count,
      sizeBytes: usage.sizeBytes + sizeBytes,
      reclaimableCount: usage.reclaimableCount + reclaimableCount,
      reclaimableBytes: usage.reclaimableBytes + reclaimableBytes,
    });
  }
  return [...merged.values()];
};

export const createStorage = (options: StorageOptions): Storage => {
  const { store, templateBuilder, snapshotter, buildFiles, mountCaches, machines, clock, log } = options;

  const listEntries = async (entries: Promise<Iterable<Entry>>): Promise<Entry[]> =>
    // What is in the making has a name of that form.
    [...(await entries)].filter(([name]) => !name.startsWith('.'));

  /** What the records say of files. */
  const readRecords = async () => {
    const unused = new Set((await store.listUnusedTemplates()).map(({ id }) => id));
    const builds = await store.listKeptBuilds();
    const isUnused = ({ templateId }: { templateId: string }): boolean => unused.has(templateId);
    return {
      kept: builds.filter((build) => !isUnused(build)).map(({ image }) => image),
      checkpoints: new Set(builds.filter(isUnused).map(({ checkpointId }) => checkpointId)),
      cached: await store.listCached(),
      snapshots: new Set(
        (await Promise.all([store.listSnapshotIds('making'), store.listSnapshotIds('ready')])).flat(),
      ),
    };
  };

  const measureMachine = async (
    { node, entries, toFileName }: StorageMachine,
    { kept, checkpoints, cached, snapshots: known }: Awaited<ReturnType<typeof readRecords>>,
  ): Promise<StorageUsage[]> => {
    const keptFiles = new Set(kept.map(toFileName));
    // An image that a build has too is counted there.
    const cachedFiles = new Set(
      cached.flatMap(({ image, isImageShared }) =>
        image === null || isImageShared ? [] : [toFileName(image)],
      ),
    );
    const cachedSnapshots = new Set(cached.map(({ snapshotId }) => snapshotId));
    const [ofCache, ofTemplates] = partition(await listEntries(entries('templates')), (name) =>
      cachedFiles.has(name),
    );
    const [stepFiles, snapshots] = partition(await listEntries(entries('snapshots')), (name) =>
      cachedSnapshots.has(name),
    );
    const layers = await listEntries(entries('layers'));
    const usages = [
      toUsage('templates', ofTemplates, (name) => !keptFiles.has(name)),
      toUsage('buildCache', [...ofCache, ...stepFiles, ...layers], () => true),
      toUsage('baseImages', await listEntries(entries('baseImages'))),
      toUsage('snapshots', snapshots, (name) => checkpoints.has(name) || !known.has(name)),
      toUsage('sandboxes', await listEntries(entries('sandboxes'))),
    ];
    return usages.map((usage) => ({ ...usage, ...(node !== null && { node }) }));
  };

  /** What is not in the folders of machines. */
  const measureRest = async (): Promise<StorageUsage[]> => {
    const uploads = await buildFiles?.measure();
    const mounted = await mountCaches?.measure();
    const logs = await store.measureLogs({ endedBefore: clock.now() - FOLLOWED_MS });
    const { unneededCount, unneededBytes, ...buildLogs } = logs.builds;
    return [
      { kind: 'contexts', ...toKept(uploads) },
      ...(mounted === undefined ? [] : [{ kind: 'buildCache' as const, ...toKept(mounted) }]),
      { kind: 'buildLogs', ...buildLogs, reclaimableCount: unneededCount, reclaimableBytes: unneededBytes },
      { kind: 'sandboxLogs', ...nothing, ...logs.sandboxes },
    ];
  };

  const measure = async (): Promise<StorageUsage[]> => {
    const records = await readRecords();
    const ofMachines = await Promise.all(machines().map((machine) => measureMachine(machine, records)));
    const all = merge([...ofMachines.flat(), ...(await measureRest())]);
    const rank = ({ kind }: StorageUsage): number => storageKinds.indexOf(kind);
    return all.toSorted((a, b) => (a.node ?? '').localeCompare(b.node ?? '') || rank(a) - rank(b));
  };

  const removeTemplates = async (): Promise<string[]> => {
    const removed: string[] = [];
    for (const { id, name } of await store.listUnusedTemplates()) {
      try {
        await templateBuilder.delete({ templateId: id });
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
      await buildFiles?.prune();
      if (all) await templateBuilder.pruneCached({ unusedForMs: 0 });
      if (all) await mountCaches?.prune();
      await store.pruneBuildLogs({ keepPerTemplate: 0, endedBefore: clock.now() - FOLLOWED_MS });
      const templates = all ? await removeTemplates() : [];
      await snapshotter.collect();
      await templateBuilder.collect();
      const after = await measure();
      const removed = before.flatMap(({ kind, node, ...had }) => {
        const has = after.find((usage) => usage.kind === kind && usage.node === node);
        // Skip what cannot be measured now: its node no longer answers.
        if (has === undefined) return [];
        const count = Math.max(0, had.count - has.count);
        const sizeBytes = Math.max(0, had.sizeBytes - has.sizeBytes);
        return count > 0 ? [{ kind, ...(node !== undefined && { node }), count, sizeBytes }] : [];
      });
      log.info('storage pruned', { all, templates: templates.length });
      return { templates, removed };
    },
  };
};
