import type { InstanceOrigin } from '@skerry/runtime';
import type { TemplateImages } from '../images/template-images.ts';
import type { BuildRow } from '../store/build-rows.ts';
import type { CacheEntry } from '../store/cache/cache-rows.ts';
import type { BuildLog } from './build-log.ts';
import type { StagePlan } from './build-plan.ts';
import type { BuildCache } from './cache/build-cache.ts';
import { type ChainPoint, toKeyChain } from './cache/key-chain.ts';
import type { Maker, WorkShare } from './cache/shared-work.ts';
import { describeStep } from './describe-step.ts';
import type { StageFiles } from './stage-base.ts';
import { changesFiles, createStageLog } from './stage-log.ts';
import { toRunConfig } from './step-position.ts';
import { type StepsOptions, withStepsSandbox } from './steps-sandbox.ts';
import { type BuildSandbox, LostSnapshotError } from './with-sandbox.ts';

export interface StageBuild extends Pick<BuildSandbox, 'instanceId' | 'limits' | 'isolation' | 'signal'> {
  build: BuildRow;
  stage: StagePlan;
  /** What it begins with. */
  from: StageFiles;
  /** The stages from which its steps copy, by their numbers. */
  stages: ReadonlyMap<number, StageFiles>;
  log: BuildLog;
  share: WorkShare;
}

export interface StageOptions extends StepsOptions {
  images: TemplateImages;
  cache: BuildCache;
  secret: string;
}

type Found = { index: number; entry: CacheEntry } | undefined;

/**
 * Makes what a stage leaves: begins with the last result that the cache has for its steps, or another build is making now, runs the
 * steps after that, keeps what each makes, and writes the image. Rejects as `withStepsSandbox` does; the results of steps that succeeded
 * stay in the cache.
 */
export const makeStage = async (build: StageBuild, options: StageOptions): Promise<StageFiles> => {
  const { stage, from, stages, log, share, signal } = build;
  const { steps, stepsBefore, cacheableSteps } = stage;
  const { cache, secret } = options;
  const base = {
    image: from.identity,
    position: from.position,
    level: build.isolation,
    diskMb: build.build.diskMb,
  };
  const points = toKeyChain(steps, { base, stages, stepsBefore, secret });
  const keys = points.map(({ key }) => key);
  const usable = cacheableSteps === null ? [] : keys.slice(0, cacheableSteps + 1);
  const look = async () => {
    const found: Found = await cache.findLast(usable);
    const next = (found?.index ?? 0) + 1;
    const makes = keys.filter(
      (_, index) => index >= next && (index === steps.length || changesFiles(steps[index - 1])),
    );
    return { found, wanted: usable.slice(next), makes };
  };
  const onWait = (maker: Maker): void => {
    const who = maker === 'this build' ? 'another stage of this build' : 'another build';
    log.add({ level: 'info', message: `waiting for ${who}, which runs the same steps now` });
  };
  for (;;) {
    const found = await share.settle(look, { onWait, signal });
    try {
      return await makeFrom(found, { ...build, points }, options);
    } catch (error) {
      if (!(error instanceof LostSnapshotError) || found === undefined) throw error;
      options.log.warn('a result in the cache of builds cannot be used', { key: found.entry.key, error });
      await cache.remove([found.entry.key]);
      log.add({ level: 'warn', message: `cached ${found.entry.key} cannot be used, and is removed` });
    }
  }
};

const makeFrom = async (
  found: Found,
  build: StageBuild & { points: readonly ChainPoint[] },
  options: StageOptions,
): Promise<StageFiles> => {
  const { stage, from, share, signal, points } = build;
  const { steps, stepsBefore } = stage;
  const { cache, images } = options;
  const { index: first, entry } = found ?? { index: 0, entry: undefined };
  const at = (number: number): ChainPoint => points[number] as ChainPoint;
  const stageLog = createStageLog(stage, first, build.log);
  if (entry !== undefined) stageLog.addTaken(first, entry);

  const { position, key } = at(steps.length);
  const toFiles = (image: string, imageBytes: number): StageFiles => ({
    ...from,
    rootfs: images.toPath(image),
    identity: image,
    made: { image, imageBytes, env: from.env },
    position,
    runConfig: toRunConfig(from.runConfig, steps, position),
    cacheKey: key,
  });
  if (first === steps.length && entry?.image != null && entry.imageBytes !== null)
    return toFiles(entry.image, entry.imageBytes);

  /** The result that the next one is made on. */
  let parent = entry?.key ?? from.cacheKey;
  const { templateId } = build.build;
  const origin = toOrigin(entry, { rootfs: from.rootfs, images });
  const firstStep = first < steps.length ? stepsBefore + first + 1 : undefined;
  const made = await withStepsSandbox(
    { ...build, templateId, origin, firstStep },
    options,
    async (sandbox) => {
      for (const [index, step] of steps.entries()) {
        if (index < first) continue;
        const number = index + 1;
        const result = at(number).key;
        stageLog.addStep(number, result);
        await sandbox.run({ step, position: at(index).position, number: stepsBefore + number });
        // The image has the last.
        if (number === steps.length || !changesFiles(step)) continue;
        const entryOf = { key: result, parent, description: describeStep(step) };
        const problem = await cache.keepFiles(sandbox.hosted, entryOf, { build: build.build, signal });
        share.done(result);
        if (problem === undefined) parent = result;
        else stageLog.addNotKept(number, problem);
      }
      return sandbox.writeImage();
    },
  );
  const isNew = first < steps.length || entry === undefined;
  const lastStep = steps.at(-1);
  const description = lastStep === undefined ? 'FROM base' : describeStep(lastStep);
  const image = { image: made.digest, imageBytes: made.sizeBytes };
  await cache.keepResult(image, { key, parent: isNew ? parent : entry.parent, description }, { isNew });
  share.done(key);
  return toFiles(made.digest, made.sizeBytes);
};

/** What the sandbox of the steps begins with: the result that was found, or what the stage begins with. */
const toOrigin = (
  entry: CacheEntry | undefined,
  { rootfs, images }: { rootfs: string; images: TemplateImages },
): InstanceOrigin => {
  if (entry?.snapshotId != null) return { snapshot: entry.snapshotId };
  return { rootfs: entry?.image == null ? rootfs : images.toPath(entry.image) };
};
