import type { Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Snapshotting } from '../sandboxes/snapshotting.ts';
import type { BuildRow, StartCommands } from '../store/build-store.ts';
import type { Store } from '../store/store.ts';
import { BuildError } from './build-error.ts';
import type { BuildLog } from './build-log.ts';
import type { BuildPlan } from './build-plan.ts';
import type { BuildCache } from './cache/build-cache.ts';
import { toCacheKey } from './cache/key-chain.ts';
import { type FilesBuild, makeFiles } from './cache/make-files.ts';
import { type BaseWork, pullBase } from './cache/pull-base.ts';
import { createSharedWork } from './cache/shared-work.ts';
import type { ContextStore } from './contexts/context-store.ts';
import { inheritStart } from './inherit-start.ts';
import { type Place, toFirstPlace } from './place.ts';
import { startInSandbox } from './start-in-sandbox.ts';
import type { InstallationImage, TemplateImages } from './template-images.ts';

/** The files of one build. */
interface Made {
  image: string;
  imageBytes: number;
  env: Record<string, string>;
}

/** The base of a build. */
interface Base {
  rootfs: string;
  env: Record<string, string>;
  /** Undefined for the image of the installation. */
  made: Made | undefined;
  start: StartCommands | null;
  /** Of its image in the cache; null: none is kept for it. */
  cacheKey: string | null;
}

/** The result of one build. */
export interface MadeTemplate extends Made {
  start: StartCommands | null;
  /** The caller has to release it. */
  checkpointId: string | null;
}

/** Makes templates: their base, the files of their steps and their checkpoint. */
export interface Making {
  /**
   * Makes the template of one build. Rejects with `BuildError`, `UnusableImageError`, the reason of `signal`, or what the
   * runtime fails with; the files that it made are then removed by the next removal of images.
   */
  make(
    build: BuildRow,
    plan: BuildPlan,
    options: { log: BuildLog; signal: AbortSignal },
  ): Promise<MadeTemplate>;
  /** Whether that instance is one of a build in progress. */
  uses(instanceId: string): boolean;
}

export interface MakingOptions {
  store: Store;
  runtime: Runtime;
  base: InstallationImage;
  /** Throws `unimplemented` where templates cannot be built. */
  requireImages(): TemplateImages;
  contexts?: ContextStore | undefined;
  cache: BuildCache;
  secret: string;
  snapshotting: Pick<Snapshotting, 'checkpoint' | 'release'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
}

export const createMaking = (options: MakingOptions): Making => {
  const { store, runtime, requireImages, base, cache, secret, contexts, ids, limits } = options;
  const shared = createSharedWork();
  const instances = new Set<string>();

  /** The results of steps need the image, also when its template is deleted. Resolves with its key, or null without steps. */
  const keepForSteps = async (
    made: Made,
    { steps }: BuildPlan,
    description: string,
  ): Promise<string | null> => {
    if (steps.length === 0) return null;
    const key = toCacheKey(secret, ['template', made.image]);
    await cache.keepBase(made, { key, description });
    return key;
  };

  const makeBase = async (plan: BuildPlan, work: BaseWork): Promise<Base> => {
    const { source } = plan;
    const { log } = work;
    const all = requireImages();
    const onMessage = (message: string): void => log.add({ level: 'info', message, step: 'base' });
    if (source.kind === 'archive') {
      onMessage('FROM the uploaded archive');
      const { digest, ...loaded } = await all.load({ archive: source.path, onMessage, signal: work.signal });
      const made = { image: digest, imageBytes: loaded.sizeBytes, env: loaded.env };
      const cacheKey = await keepForSteps(made, plan, 'FROM an uploaded archive');
      return { rootfs: all.toPath(digest), env: made.env, made, start: null, cacheKey };
    }
    if (source.kind === 'image') {
      onMessage(`FROM ${source.reference}`);
      const force = plan.cacheableSteps === null;
      const { cacheKey, ...made } = await pullBase(source, { ...work, force }, { ...options, images: all });
      return { rootfs: all.toPath(made.image), env: made.env, made, start: null, cacheKey };
    }
    onMessage(`FROM template ${source.name}`);
    if (source.build === null)
      return { rootfs: base.rootfs, env: {}, made: undefined, start: null, cacheKey: null };
    // From here on its file stays until this build has ended.
    const found = await store.findBuild(source.build.id);
    const { image = null, imageBytes = null, env = {}, start = null } = found ?? {};
    if (image === null || imageBytes === null)
      throw new BuildError('base', `the template ${source.name} was deleted`);
    const made = { image, imageBytes, env };
    const cacheKey = await keepForSteps(made, plan, `FROM template ${source.name}`);
    return { rootfs: all.toPath(image), env, made, start, cacheKey };
  };

  const makeStepFiles = async (
    plan: BuildPlan,
    { made, ...from }: Base,
    sandbox: Omit<FilesBuild, 'plan' | 'base'>,
  ): Promise<Made & { place: Place }> => {
    const { env } = from;
    if (made !== undefined && plan.steps.length === 0) return { ...made, place: toFirstPlace(env) };
    const image = made?.image ?? `${base.rootfs} ${base.digest ?? ''}`;
    const { level } = runtime.features;
    const { diskMb } = sandbox.build;
    const files = await makeFiles(
      { ...sandbox, plan, base: { ...from, image, level, diskMb } },
      { ...options, images: requireImages(), contexts },
    );
    return { ...files, env };
  };

  return {
    uses: (instanceId) => instances.has(instanceId),
    make: async (build, plan, { log, signal }) => {
      using share = shared.begin();
      const from = await makeBase(plan, { log, share, signal });
      const instanceId = ids.sandboxId();
      instances.add(instanceId);
      try {
        const sandbox = {
          build,
          instanceId,
          limits: {
            cpuCount: build.cpuCount,
            memoryBytes: build.memoryMb * 2 ** 20,
            diskBytes: build.diskMb * 2 ** 20,
            processCount: limits.processCount,
          },
          log,
          share,
          signal,
        };
        const { place, ...files } = await makeStepFiles(plan, from, sandbox);
        const start = inheritStart(plan, { place, inherited: from.start });
        if (start === null) return { ...files, start, checkpointId: null };
        const origin = { rootfs: requireImages().toPath(files.image) };
        const checkpointId = await startInSandbox({ ...sandbox, origin, commands: start }, options);
        return { ...files, start, checkpointId };
      } finally {
        instances.delete(instanceId);
      }
    },
  };
};
