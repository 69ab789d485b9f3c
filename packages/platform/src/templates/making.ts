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
import { buildInSandbox } from './build-sandbox.ts';
import { type Place, toFirstPlace } from './build-steps.ts';
import type { ContextStore } from './contexts/context-store.ts';
import { inheritStart } from './inherit-start.ts';
import { type BuildStartPhase, startInSandbox } from './start-in-sandbox.ts';
import type { TemplateImages } from './template-images.ts';

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
  base: { rootfs: string };
  /** Throws `unimplemented` where templates cannot be built. */
  requireImages(): TemplateImages;
  contexts?: ContextStore | undefined;
  snapshotting: Pick<Snapshotting, 'checkpoint' | 'release'>;
  clock: Clock;
  ids: Ids;
  log: Log;
  limits: Limits;
}

export const createMaking = (options: MakingOptions): Making => {
  const { store, runtime, requireImages, contexts, clock, ids, limits } = options;
  const instances = new Set<string>();

  const makeBase = async (
    { source }: BuildPlan,
    { log, signal }: { log: BuildLog; signal: AbortSignal },
  ): Promise<Base> => {
    const all = requireImages();
    const onMessage = (message: string): void => log.add({ level: 'info', message, step: 'base' });
    if (source.kind === 'image' || source.kind === 'archive') {
      onMessage(source.kind === 'image' ? `FROM ${source.reference}` : 'FROM the uploaded archive');
      const made =
        source.kind === 'image'
          ? await all.make({ ...source, onMessage, signal })
          : await all.load({ archive: source.path, onMessage, signal });
      const { digest: image, sizeBytes: imageBytes, env } = made;
      return { rootfs: all.toPath(image), env, made: { image, imageBytes, env }, start: null };
    }
    onMessage(`FROM template ${source.name}`);
    if (source.build === null) return { rootfs: options.base.rootfs, env: {}, made: undefined, start: null };
    // From here on its file stays until this build has ended.
    const found = await store.findBuild(source.build.id);
    const { image = null, imageBytes = null, env = {}, start = null } = found ?? {};
    if (image === null || imageBytes === null)
      throw new BuildError('base', `the template ${source.name} was deleted`);
    return { rootfs: all.toPath(image), env, made: { image, imageBytes, env }, start };
  };

  /** Runs the steps of a build. */
  const makeFiles = async (
    plan: BuildPlan,
    { rootfs, env, made }: Base,
    sandbox: Pick<BuildStartPhase, 'build' | 'instanceId' | 'limits' | 'log' | 'signal'>,
  ): Promise<Made & { place: Place }> => {
    if (made !== undefined && plan.steps.length === 0) return { ...made, place: toFirstPlace(env) };
    const { id: buildId, templateId } = sandbox.build;
    const inside = { ...sandbox, buildId, templateId, rootfs, env, steps: plan.steps };
    const { digest, sizeBytes, place } = await buildInSandbox(inside, {
      runtime,
      images: requireImages(),
      contexts,
      clock,
    });
    return { image: digest, imageBytes: sizeBytes, env, place };
  };

  return {
    uses: (instanceId) => instances.has(instanceId),
    make: async (build, plan, { log, signal }) => {
      const base = await makeBase(plan, { log, signal });
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
          signal,
        };
        const { place, ...files } = await makeFiles(plan, base, sandbox);
        const start = inheritStart(plan, { place, inherited: base.start });
        if (start === null) return { ...files, start, checkpointId: null };
        const rootfs = requireImages().toPath(files.image);
        const checkpointId = await startInSandbox({ ...sandbox, rootfs, commands: start }, options);
        return { ...files, start, checkpointId };
      } finally {
        instances.delete(instanceId);
      }
    },
  };
};
