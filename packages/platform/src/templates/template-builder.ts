import { ApiError, conflict, invalid, notFound, unimplemented } from '@skerry/contract/error';
import { createTurns } from '@skerry/contract/turns';
import { isRuntimeError } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Hosts } from '../hosts/hosts.ts';
import { NodeUnreachableError } from '../hosts/unreachable.ts';
import { type Ids, toBuildId } from '../ids.ts';
import {
  type InstallationImage,
  type TemplateImages,
  UnusableImageError,
} from '../images/template-images.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Snapshotter } from '../sandboxes/snapshotter.ts';
import type { BuildReason, BuildRow, NewBuild } from '../store/build-rows.ts';
import type { Store } from '../store/store.ts';
import type { TemplatePart } from '../store/tags/tag-rows.ts';
import { BuildError } from './build-error.ts';
import { createBuildLog } from './build-log.ts';
import { type BuildPlan, listUploads } from './build-plan.ts';
import { type CachedResult, createBuildCache } from './cache/build-cache.ts';
import { createMountCaches } from './mounts/mount-caches.ts';
import { createTemplateMaker } from './template-maker.ts';
import type { ArchiveStore } from './uploads/archive-store.ts';

export interface BuildRequest
  extends Pick<NewBuild, 'project' | 'cpuCount' | 'memoryMb' | 'minFreeDiskMb' | 'isolation' | 'tags'> {
  name: string;
}

/** Registers, runs and removes builds of templates. */
export interface TemplateBuilder {
  /**
   * Registers a build, which waits for its start; earlier ones of the template that still wait fail. Rejects with
   * `conflict` for the name of something that is not built, and with `unimplemented` where templates cannot be built.
   */
  request(request: BuildRequest): Promise<BuildRow>;
  /**
   * Begins a waiting build; resolves when it is `building`, and the work goes on. Rejects with `invalid_argument` for
   * one that is not waiting any more, unless the same request has started it.
   */
  start(build: BuildRow, plan: BuildPlan, request?: string): Promise<void>;
  /**
   * Removes a template or a part of it. Rejects with `not_found`, and with `invalid_argument` while sandboxes that were created from it
   * exist.
   */
  delete(part: TemplatePart): Promise<void>;
  /**
   * Ends a build that waits or runs, which then has failed with that reason. Resolves when nothing of it runs any more, also for a build
   * that has ended.
   */
  cancel(build: BuildRow): Promise<void>;
  /** What the cache has for later builds, the one that was used last first. */
  listCached(): Promise<CachedResult[]>;
  /**
   * Removes a result from the cache, and all that were made on it; their files are removed when this resolves, but images only when no
   * build is in progress. Rejects with `not_found`.
   */
  removeCached(key: string): Promise<void>;
  /** Removes in that way the results that were not used for so long, and resolves with them. */
  pruneCached(which: { unusedForMs: number }): Promise<CachedResult[]>;
  /** Whether a build is in progress. */
  isBusy(): boolean;
  /** Whether that instance is the sandbox of a build that this process runs. */
  isBuilding(instanceId: string): boolean;
  /**
   * Ends the builds of an earlier process, which cannot continue, and those that have waited too long for their start, records the
   * ends that could not be recorded, and removes images that nothing needs.
   */
  collect(): Promise<void>;
  /** Begins to remove images and checkpoints that nothing needs any more. */
  collectSoon(): void;
  /** Resolves when no build is in progress. */
  settled(): Promise<void>;
  /** Ends the builds in progress, which fail with that reason. */
  close(): Promise<void>;
}

interface RunningBuild {
  templateId: string;
  /** A hash of the request that started it. */
  request: string | undefined;
  abort: AbortController;
  done: Promise<void>;
}

export interface TemplateBuilderOptions {
  store: Store;
  hosts: Hosts;
  images: { base: InstallationImage; templates?: TemplateImages | undefined };
  snapshotter: Pick<Snapshotter, 'checkpoint' | 'captureFiles' | 'release' | 'collect'>;
  /** Keys of the cache are derived from it. */
  secret: string;
  /** The files that steps copy. */
  buildFiles?: ArchiveStore | undefined;
  /** What commands of builds keep between builds. */
  mountCaches?: ArchiveStore | undefined;
  /** The archives of images that clients have uploaded. */
  imports?: Pick<ArchiveStore, 'collect'> | undefined;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
}

/** The number of builds of a template whose logs stay, beside those of its tags. */
const KEPT_LOGS = 20;
/** A client may still read the log of a build that has just ended. */
export const FOLLOWED_MS = 60 * 60_000;
const MAX_CONCURRENT = 2;
const MAX_WAIT_MS = 40 * 60_000;
/** The most builds that wait for their start or run: each holds memory and a row until it ends. */
export const MAX_UNFINISHED = 1_000;
const notStarted: BuildReason = { message: 'the build was not started within 40 minutes' };
const canceled: BuildReason = { message: 'the build was canceled' };

/** Nothing runs before the first call. `close` has to settle before the store closes. */
export const createTemplateBuilder = (options: TemplateBuilderOptions): TemplateBuilder => {
  const { store, hosts, images, buildFiles, imports, snapshotter, clock, ids, log, limits } = options;
  const turns = createTurns(MAX_CONCURRENT);
  const running = new Map<string, RunningBuild>();
  const closing = new AbortController();
  /** The removal of images, during which no build begins. */
  let collecting: Promise<void> = Promise.resolve();

  const requireImages = (): TemplateImages => {
    if (images.templates && hosts.features.imageExport) return images.templates;
    throw unimplemented('the runtime of this server cannot build templates');
  };
  const cache = createBuildCache(options);
  const caches = options.mountCaches && createMountCaches(options.mountCaches);
  const templateMaker = createTemplateMaker({ ...options, base: images.base, cache, caches, requireImages });

  /** Why builds failed whose end could not be recorded, as on a full disk. */
  const unrecorded = new Map<string, BuildReason>();

  const fail = async (id: string, reason: BuildReason): Promise<void> => {
    unrecorded.set(id, reason);
    await store.failBuild(id, { finishedAt: clock.now(), reason });
    unrecorded.delete(id);
  };

  const toReason = (
    error: unknown,
    build: BuildRow,
    { late, abort }: { late: AbortSignal; abort: AbortSignal },
  ): BuildReason => {
    if (abort.reason === canceled) return canceled;
    if (closing.signal.aborted) return { message: 'the server stopped during the build' };
    if (late.aborted) return { message: `the build took longer than ${describeTime(limits.buildTimeoutMs)}` };
    if (error instanceof BuildError) return { message: error.message, step: error.step };
    if (error instanceof UnusableImageError) return { message: error.message, step: 'base' };
    if (error instanceof NodeUnreachableError || (error instanceof ApiError && error.status === 503))
      return { message: error.message };
    if (isRuntimeError(error, 'exhausted')) return { message: 'the host has too little room for the build' };
    return { message: `build ${toBuildId(build.id)} failed because of an error of this server` };
  };

  /** Runs a build to its end, which is then on record. */
  const run = async (build: BuildRow, plan: BuildPlan, abort: AbortSignal): Promise<void> => {
    const startedAt = clock.now();
    const onError = (error: unknown): void =>
      log.error('the log of a build could not be stored', { buildId: build.id, error });
    const buildLog = createBuildLog(build.id, { store, clock, onError });
    const late = new AbortController();
    let cancel = (): void => undefined;
    let checkpointId: string | null = null;
    const signal = AbortSignal.any([late.signal, closing.signal, abort]);
    try {
      await collecting;
      const made = await turns.take(() => {
        // The wait for the turn is not part of the build.
        cancel = clock.after(limits.buildTimeoutMs, () => late.abort(new Error('the build took too long')));
        return templateMaker.make(build, plan, { log: buildLog, signal });
      }, signal);
      ({ checkpointId } = made);
      buildLog.add({ level: 'info', message: `ready after ${clock.now() - startedAt} ms` });
      await buildLog.flush();
      // Deleted with its template, when this finds no row.
      await store.finishBuild(build.id, { finishedAt: clock.now(), ...made });
      const { templateId } = build;
      log.info('template built', { templateId, buildId: build.id, tookMs: clock.now() - startedAt });
    } catch (error) {
      const reason = toReason(error, build, { late: late.signal, abort });
      log.warn('a build failed', { templateId: build.templateId, buildId: build.id, error });
      const { message, step } = reason;
      buildLog.add({ level: 'error', message, ...(step !== undefined && { step }) });
      await buildLog.flush();
      await fail(build.id, reason);
    } finally {
      cancel();
      if (checkpointId !== null) await snapshotter.release(checkpointId);
    }
  };

  const collect = async (): Promise<void> => {
    const { templates } = images;
    // The image of a build is on no record before its end.
    if (templates === undefined || running.size > 0) return;
    const remove = async (): Promise<void> => {
      const kept = new Set(await store.retireImages());
      for (const digest of await templates.list()) if (!kept.has(digest)) await templates.remove(digest);
      await buildFiles?.collect();
      await options.mountCaches?.collect();
      await imports?.collect();
      const endedBefore = clock.now() - FOLLOWED_MS;
      await store.pruneBuildLogs({ keepPerTemplate: KEPT_LOGS, endedBefore });
    };
    const removed = collecting.then(remove);
    // The caller receives the rejection; builds only wait for the end.
    collecting = removed.catch(() => undefined);
    await removed;
  };

  // A checkpoint needs the image of its build, and files in the cache that of their base.
  const collectQuietly = (): Promise<void> =>
    cache
      .evict()
      .then(() => snapshotter.collect())
      .then(collect)
      .catch((error) => log.error('images could not be removed; this will be retried', { error }));

  const settled = async (): Promise<void> => {
    while (running.size > 0) await Promise.all(Array.from(running.values(), ({ done }) => done));
  };

  return {
    settled,
    request: async ({ name, ...request }) => {
      requireImages();
      const build = { id: ids.buildId(), createdAt: clock.now(), diskMb: limits.diskMb, ...request };
      const superseded = 'superseded: a later build of this template was registered';
      const as = { templateId: ids.templateId(), name, superseded, maxUnfinished: MAX_UNFINISHED };
      const row = await store.addBuild(build, as);
      if (row === 'taken') throw nameTaken(name);
      if (row === 'limit') throw tooManyBuilds();
      return row;
    },
    start: async (build, plan, request) => {
      requireImages();
      if (build.state === 'waiting' && clock.now() - build.createdAt > MAX_WAIT_MS) {
        await fail(build.id, notStarted);
        throw invalid(`${notStarted.message}: register another one`);
      }
      const notWaiting = invalid(`build "${toBuildId(build.id)}" is not waiting for its start`);
      const started = running.get(build.id);
      if (started !== undefined) {
        if (request !== undefined && started.request === request) return;
        throw notWaiting;
      }
      const abort = new AbortController();
      const { promise: done, resolve: end } = Promise.withResolvers<void>();
      // Before its state changes: the removal of a template ends it, and that of images waits for it.
      running.set(build.id, { templateId: build.templateId, request, abort, done });
      const releaseContexts = buildFiles?.hold(listHashes(plan));
      const release = (): void => {
        releaseContexts?.();
        if (plan.source.kind === 'archive') plan.source.release();
      };
      const leave = (): void => {
        running.delete(build.id);
        release();
        end();
      };
      const row = await store.startBuild(build.id, clock.now(), request).catch((error: unknown) => {
        leave();
        throw error;
      });
      if (row === undefined) {
        leave();
        throw notWaiting;
      }
      void run(row, plan, abort.signal)
        // `collect` does that again.
        .catch((error) => log.error('the end of a build could not be recorded', { buildId: row.id, error }))
        .finally(() => {
          running.delete(row.id);
          release();
        })
        .then(collectQuietly)
        .finally(end);
    },
    delete: async (part) => {
      const outcome = await store.retireTemplate(part);
      if (outcome === 'not_found') throw notFound(`template "${part.templateId}" was not found`);
      if (outcome === 'in_use')
        throw invalid(`template "${part.templateId}" is used by sandboxes that are running or paused`);
      if (part.tag === undefined && part.buildId === undefined)
        for (const { templateId, abort } of running.values())
          if (templateId === part.templateId) abort.abort(new Error('the template was deleted'));
      await collectQuietly();
    },
    cancel: async (build) => {
      const started = running.get(build.id);
      started?.abort.abort(canceled);
      await started?.done;
      // One that was about to be started, or was not.
      const { state } = (await store.findBuild(build.id)) ?? {};
      if (state === 'waiting') await fail(build.id, canceled);
    },
    isBusy: () => running.size > 0,
    isBuilding: (instanceId) => templateMaker.uses(instanceId),
    collect: async () => {
      if (!hosts.isBuilder) {
        // What a build has made is on no record yet.
        if ((await store.listBuildIds('building')).length === 0) await collect();
        return;
      }
      const lost = (await store.listBuildIds('building')).filter((id) => !running.has(id));
      const restarted = { message: 'the server was restarted during the build' };
      for (const id of lost) await fail(id, unrecorded.get(id) ?? restarted);
      const late = await store.listBuildIds('waiting', { createdBefore: clock.now() - MAX_WAIT_MS });
      // A build that is being started is on record as waiting for a moment more.
      for (const id of late) if (!running.has(id)) await fail(id, notStarted);
      await cache.evict();
      await collect();
    },
    removeCached: async (key) => {
      const removed = await cache.remove([key]);
      if (!removed.includes(key)) throw notFound(`the cache of builds has no result "${key}"`);
      await collectQuietly();
    },
    pruneCached: async (which) => {
      const before = await cache.list();
      const removed = new Set(await cache.prune(which));
      await collectQuietly();
      return before.filter(({ key }) => removed.has(key));
    },
    listCached: () => cache.list(),
    collectSoon: () => void collectQuietly(),
    close: async () => {
      closing.abort(new Error('the server stops'));
      await settled();
      await collecting;
    },
  };
};

/** The hashes of the files that the steps of a build have of its context. */
const listHashes = (plan: BuildPlan): string[] =>
  [...plan.stages, plan].flatMap(({ steps }) => steps.flatMap(listUploads)).map(({ filesHash }) => filesHash);

const describeTime = (timeMs: number): string =>
  timeMs < 120_000 ? `${timeMs / 1_000} seconds` : `${Math.round(timeMs / 60_000)} minutes`;

const tooManyBuilds = (): ApiError =>
  new ApiError(
    'resource_exhausted',
    `${MAX_UNFINISHED} builds wait for their start or run: start, cancel or delete some of them first`,
    { headers: { 'Retry-After': '30' } },
  );

const nameTaken = (name: string): ApiError =>
  conflict(`the name "${name}" belongs to a template that is not built`);
