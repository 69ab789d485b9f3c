import type { Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Snapshotting } from '../sandboxes/snapshotting.ts';
import type { BuildRow, StartCommands } from '../store/build-store.ts';
import type { Store } from '../store/store.ts';
import type { BuildLog } from './build-log.ts';
import type { BuildPlan, StagePlan } from './build-plan.ts';
import { buildInSandbox, type SandboxBuild } from './build-sandbox.ts';
import type { ContextStore } from './contexts/context-store.ts';
import type { WithStage } from './contexts/run-copy.ts';
import { inheritStart, isOfImage } from './inherit-start.ts';
import { runStages, type StageWork } from './run-stages.ts';
import { createStageBases, type Made, type StageFiles } from './stage-base.ts';
import { StartEndedError } from './start-commands.ts';
import { startInSandbox } from './start-in-sandbox.ts';
import type { TemplateImages } from './template-images.ts';
import { withSandbox } from './with-sandbox.ts';

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
  base: { rootfs: string };
  /** Throws `unimplemented` where templates cannot be built. */
  requireImages(): TemplateImages;
  contexts?: ContextStore | undefined;
  snapshotting: Pick<Snapshotting, 'checkpoint'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
}

interface StageSandbox extends Pick<SandboxBuild, 'templateId' | 'limits' | 'log' | 'signal'> {
  base: StageFiles;
  stages: ReadonlyMap<number, StageFiles>;
}

export const createMaking = (options: MakingOptions): Making => {
  const { store, runtime, requireImages, contexts, clock, ids, limits, base } = options;
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

  /** Runs the steps of a stage in a sandbox, and makes an image of the files that it then has. */
  const runSteps = (
    { steps, stepsBefore }: StagePlan,
    { base: from, stages, ...sandbox }: StageSandbox,
  ): Promise<StageFiles> =>
    withId(async (instanceId) => {
      const images = requireImages();
      const { rootfs, place, env } = from;
      const withStage: WithStage = (index, work) =>
        withId((id) => {
          const stage = { ...sandbox, instanceId: id, rootfs: stages.get(index)?.rootfs ?? '' };
          return withSandbox(stage, { runtime, clock }, work);
        });
      const made = await buildInSandbox(
        { ...sandbox, instanceId, rootfs, place, steps, stepsBefore },
        { runtime, images, contexts, withStage, clock },
      );
      const file = { image: made.digest, imageBytes: made.sizeBytes, env };
      return { ...from, rootfs: images.toPath(made.digest), made: file, place: made.place };
    });

  return {
    uses: (instanceId) => instances.has(instanceId),
    make: async (build, plan, { log, signal }) => {
      const images = requireImages();
      const sandbox = {
        templateId: build.templateId,
        limits: {
          cpuCount: build.cpuCount,
          memoryBytes: build.memoryMb * 2 ** 20,
          diskBytes: build.diskMb * 2 ** 20,
          processCount: limits.processCount,
        },
        log,
      };
      const bases = createStageBases({ store, images, base, log, signal });
      const work: StageWork = {
        makeBase: (stage, { source }) => bases(stage, source),
        runSteps: (stage, more) => runSteps(stage, { ...sandbox, ...more }),
      };
      const { made, rootfs, place, image, start: inherited } = await runStages(plan, work, { signal });
      if (made === undefined) throw new Error('a build has made no image');
      const commands = inheritStart(plan, { place, inherited, image });
      if (commands === null) return { ...made, start: null, checkpointId: null };
      const isOwn = commands === inherited || !isOfImage(plan) || commands.startCmd === null;
      try {
        const checkpointId = await withId((instanceId) =>
          startInSandbox({ ...sandbox, build, signal, instanceId, rootfs, commands, mayEnd: isOwn }, options),
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
