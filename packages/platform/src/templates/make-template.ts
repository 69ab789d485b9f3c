import type { Clock } from '../clock.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { Ids } from '../ids.ts';
import type { InstallationImage, TemplateImages } from '../images/template-images.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Snapshotting } from '../sandboxes/snapshotting.ts';
import type { BuildConfig, BuildRow } from '../store/build-rows.ts';
import type { Store } from '../store/store.ts';
import type { BuildLog } from './build-log.ts';
import type { BuildPlan, StagePlan } from './build-plan.ts';
import type { BuildCache } from './cache/build-cache.ts';
import { type FilesBuild, makeFiles } from './cache/make-files.ts';
import { createSharedWork } from './cache/shared-work.ts';
import { inheritStart, isOfImage } from './inherit-start.ts';
import type { MountCaches } from './mounts/mount-caches.ts';
import { runStages, type StageWork } from './run-stages.ts';
import { createStageBases, type Made, type StageFiles } from './stage-base.ts';
import { StartEndedError } from './start-commands.ts';
import { startInSandbox } from './start-in-sandbox.ts';
import { toRunConfig } from './step-place.ts';
import type { ContextStore } from './uploads/context-store.ts';
import type { WithStage } from './uploads/run-copy.ts';
import { withSandbox } from './with-sandbox.ts';

/** The result of one build. */
export interface MadeTemplate extends Made, BuildConfig {
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
  hosts: Hosts;
  base: InstallationImage;
  /** Throws `unimplemented` where templates cannot be built. */
  requireImages(): TemplateImages;
  contexts?: ContextStore | undefined;
  caches?: MountCaches | undefined;
  cache: BuildCache;
  secret: string;
  snapshotting: Pick<Snapshotting, 'checkpoint' | 'release'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
}

interface StageSandbox extends Pick<FilesBuild, 'build' | 'limits' | 'log' | 'signal'> {
  base: StageFiles;
  stages: ReadonlyMap<number, StageFiles>;
}

export const createMaking = (options: MakingOptions): Making => {
  const { hosts, requireImages, contexts, caches, ids, limits } = options;
  const shared = createSharedWork();
  const instances = new Set<string>();

  const withId = async <T>(work: (instanceId: string) => Promise<T>): Promise<T> => {
    const instanceId = ids.sandboxId();
    instances.add(instanceId);
    try {
      return await work(instanceId);
    } finally {
      instances.delete(instanceId);
    }
  };

  /** Makes the image of the files that a stage has after its steps. */
  const runSteps = (plan: StagePlan, { base: from, stages, ...sandbox }: StageSandbox): Promise<StageFiles> =>
    withId(async (instanceId) => {
      const images = requireImages();
      const { templateId, diskMb } = sandbox.build;
      const withStage: WithStage = (index, work) =>
        withId((id) => {
          const { rootfs } = stages.get(index) as StageFiles;
          const stage = { ...sandbox, templateId, instanceId: id, origin: { rootfs } };
          return withSandbox(stage, options, ({ instance }) => work(instance));
        });
      using share = shared.begin(sandbox.build.id);
      const base = { ...from, image: from.identity, level: hosts.features.level, diskMb };
      const { image, imageBytes, place, cacheKey } = await makeFiles(
        { ...sandbox, instanceId, plan, base, stages, share },
        { ...options, images, contexts, caches, withStage },
      );
      const made = { image, imageBytes, env: from.env };
      const runConfig = toRunConfig(from.runConfig, plan.steps, place);
      return { ...from, rootfs: images.toPath(image), identity: image, made, place, runConfig, cacheKey };
    });

  return {
    uses: (instanceId) => instances.has(instanceId),
    make: async (build, plan, { log, signal }) => {
      const images = requireImages();
      const sandbox = {
        build,
        limits: {
          cpuCount: build.cpuCount,
          memoryBytes: build.memoryMb * 2 ** 20,
          diskBytes: build.diskMb * 2 ** 20,
          processCount: limits.processCount,
        },
        log,
      };
      const hasSteps = [...plan.stages, plan].some(({ steps }) => steps.length > 0);
      const bases = createStageBases({
        ...options,
        ...{ buildId: build.id, images, shared, hasSteps, log, signal },
      });
      const work: StageWork = {
        makeBase: (stage, { source }) => bases(stage, source),
        runSteps: (stage, more) => runSteps(stage, { ...sandbox, ...more }),
      };
      const last = await runStages(plan, work, { signal });
      const { rootfs, place, runConfig, image, start: inherited } = last;
      if (last.made === undefined) throw new Error('a build has made no image');
      const made = { ...last.made, runConfig };
      const commands = inheritStart(plan, { place, inherited, image });
      if (commands === null) return { ...made, start: null, checkpointId: null };
      const isOwn = commands === inherited || !isOfImage(plan) || commands.startCmd === null;
      try {
        const checkpointId = await withId((instanceId) =>
          startInSandbox(
            { ...sandbox, signal, instanceId, origin: { rootfs }, commands, mayEnd: isOwn },
            options,
          ),
        );
        return { ...made, start: commands, checkpointId };
      } catch (error) {
        if (!(error instanceof StartEndedError)) throw error;
        const message = 'the command of the image has ended: sandboxes begin without it';
        log.add({ level: 'info', message, step: 'finalize' });
        return { ...made, start: null, checkpointId: null };
      }
    },
  };
};
