import { type IsolationLevel, strongestOf } from '@skerry/contract/isolation';
import { StartEndedError } from '../agent-commands/start-commands.ts';
import type { Clock } from '../clock.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { Ids } from '../ids.ts';
import type { InstallationImage, TemplateImages } from '../images/template-images.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Snapshotter } from '../sandboxes/snapshotter.ts';
import type { BuildConfig, BuildRow } from '../store/build-rows.ts';
import type { Store } from '../store/store.ts';
import { BuildError } from './build-error.ts';
import type { BuildLog } from './build-log.ts';
import { type BuildPlan, levelOfBuild } from './build-plan.ts';
import type { BuildCache } from './cache/build-cache.ts';
import { toProjectSecret } from './cache/key-chain.ts';
import { createSharedWork } from './cache/shared-work.ts';
import { makeStage, type StageBuild } from './make-stage.ts';
import type { MountCaches } from './mounts/mount-caches.ts';
import { runStages, type StageWork } from './run-stages.ts';
import { createStageBases, type Made, type StageFiles } from './stage-base.ts';
import { inheritStart, isOfImage } from './start/inherit-start.ts';
import { startInSandbox } from './start/start-in-sandbox.ts';
import type { ArchiveStore } from './uploads/archive-store.ts';
import type { WithStage } from './uploads/copy-runner.ts';
import { withSandbox } from './with-sandbox.ts';

/** The result of one build. */
export interface MadeTemplate extends Made, BuildConfig, Pick<BuildRow, 'isolation'> {
  /** The caller has to release it. */
  checkpointId: string | null;
}

/** Makes templates: their base, the files of their steps and their checkpoint. */
export interface TemplateMaker {
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

export interface TemplateMakerOptions {
  store: Store;
  hosts: Hosts;
  base: InstallationImage;
  /** Throws `unimplemented` where templates cannot be built. */
  requireImages(): TemplateImages;
  buildFiles?: ArchiveStore | undefined;
  caches?: MountCaches | undefined;
  cache: BuildCache;
  secret: string;
  snapshotter: Pick<Snapshotter, 'checkpoint' | 'release'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
}

export const createTemplateMaker = (options: TemplateMakerOptions): TemplateMaker => {
  const { requireImages, buildFiles, caches, ids, limits, hosts } = options;
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

  /** Returns the level of the sandboxes of a build. Throws `BuildError` when no host has it. */
  const toLevel = (demanded: IsolationLevel | null): IsolationLevel => {
    const { level, levels } = hosts.features;
    const isolation = strongestOf([level, ...(demanded === null ? [] : [demanded])]);
    if (levels[isolation] !== undefined) return isolation;
    throw new BuildError('base', `the build demands level "${isolation}", which this server does not have`);
  };

  const runSteps = (stage: Omit<StageBuild, 'instanceId' | 'share'>): Promise<StageFiles> =>
    withId(async (instanceId) => {
      const withStage: WithStage = (index, work) =>
        withId((id) => {
          const { rootfs } = stage.stages.get(index) as StageFiles;
          const { templateId } = stage.build;
          const sandbox = { ...stage, templateId, instanceId: id, origin: { rootfs } };
          return withSandbox(sandbox, options, ({ instance }) => work(instance));
        });
      using share = shared.begin(stage.build.id);
      const images = requireImages();
      return await makeStage(
        { ...stage, instanceId, share },
        {
          ...options,
          secret: toProjectSecret(options.secret, stage.build.project),
          images,
          buildFiles,
          caches,
          withStage,
        },
      );
    });

  return {
    uses: (instanceId) => instances.has(instanceId),
    make: async (build, plan, { log, signal }) => {
      const images = requireImages();
      const demanded = levelOfBuild(build, plan);
      const sandbox = {
        build,
        isolation: toLevel(demanded),
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
        secret: toProjectSecret(options.secret, build.project),
        ...{ buildId: build.id, images, shared, hasSteps, log, signal },
      });
      const work: StageWork = {
        makeBase: (stage, { source }) => bases(stage, source),
        runSteps: (stage, { base, ...more }) => runSteps({ ...sandbox, ...more, stage, from: base }),
      };
      const last = await runStages(plan, work, { signal });
      const { rootfs, position, runConfig, image, start: inherited } = last;
      if (last.made === undefined) throw new Error('a build has made no image');
      const made = { ...last.made, runConfig, isolation: demanded };
      const commands = inheritStart(plan, { position, inherited, image });
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
