import type { InstanceOrigin } from '@skerry/runtime';
import type { Clock } from '../../clock.ts';
import type { Hosts } from '../../hosts/hosts.ts';
import type { TemplateImages } from '../../images/template-images.ts';
import type { Limits } from '../../limits.ts';
import type { Log } from '../../log.ts';
import type { BuildRow } from '../../store/build-rows.ts';
import type { CacheEntry } from '../../store/cache/cache-rows.ts';
import type { BuildLog } from '../build-log.ts';
import type { BuildStep, StagePlan } from '../build-plan.ts';
import { buildInSandbox } from '../build-sandbox.ts';
import { describeStep } from '../describe-step.ts';
import type { MountCaches } from '../mounts/mount-caches.ts';
import type { Place, PlacedStep } from '../step-place.ts';
import type { ContextStore } from '../uploads/context-store.ts';
import type { WithStage } from '../uploads/run-copy.ts';
import { type BuildSandbox, LostSnapshotError } from '../with-sandbox.ts';
import type { BuildCache } from './build-cache.ts';
import { type ChainBase, type ChainPoint, type StageImages, toKeyChain } from './key-chain.ts';
import type { Maker, WorkShare } from './shared-work.ts';

export interface FilesBuild extends Pick<BuildSandbox, 'instanceId' | 'limits' | 'signal'> {
  build: BuildRow;
  plan: Pick<StagePlan, 'steps' | 'stepsBefore' | 'cacheableSteps' | 'forcedStep'>;
  /** Those that its steps copy from. */
  stages: StageImages;
  base: ChainBase & { rootfs: string; cacheKey: string | null };
  log: BuildLog;
  share: WorkShare;
}

export interface FilesOptions {
  hosts: Pick<Hosts, 'forBuild'>;
  images: TemplateImages;
  contexts: ContextStore | undefined;
  caches: MountCaches | undefined;
  withStage: WithStage;
  cache: BuildCache;
  secret: string;
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'buildTimeoutMs'>;
}

/** The image of a stage, and where a further step would run. */
export interface MadeFiles {
  image: string;
  imageBytes: number;
  place: Place;
  /** Of its result in the cache. */
  cacheKey: string;
}

type Found = { index: number; entry: CacheEntry } | undefined;

/** Whether the result of a step is kept. The others change little or nothing, and take less time than a capture: they run again. */
const changesFiles = (step: BuildStep | undefined): boolean => step?.type === 'RUN' || step?.type === 'COPY';

/**
 * Makes the files of a stage: begins with the last result that the cache has for its steps, or another build is making
 * now, runs the steps after that, and keeps what each makes. Rejects as `buildInSandbox` does; the results of steps that succeeded stay
 * in the cache.
 */
export const makeFiles = async (build: FilesBuild, options: FilesOptions): Promise<MadeFiles> => {
  const { plan, base, stages, log, share, signal } = build;
  const { cache, secret } = options;
  const points = toKeyChain(plan.steps, { base, stages, stepsBefore: plan.stepsBefore, secret });
  const keys = points.map(({ key }) => key);
  const usable = plan.cacheableSteps === null ? [] : keys.slice(0, plan.cacheableSteps + 1);
  const look = async () => {
    const found: Found = await cache.findLast(usable);
    const next = (found?.index ?? 0) + 1;
    const makes = keys.filter(
      (_, index) => index >= next && (index === plan.steps.length || changesFiles(plan.steps[index - 1])),
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
  build: FilesBuild & { points: readonly ChainPoint[] },
  options: FilesOptions,
): Promise<MadeFiles> => {
  const { plan, base, log, share, signal, points } = build;
  const { cache, images } = options;
  const { index: first, entry } = found ?? { index: 0, entry: undefined };
  const at = (index: number): ChainPoint => points[index] as ChainPoint;
  const last = plan.steps.length;
  for (const [index, step] of plan.steps.slice(0, first).entries()) {
    const name = String(plan.stepsBefore + index + 1);
    log.add({
      level: 'info',
      message: `CACHED step ${name}: ${describeStep(step)}`,
      step: name,
    });
  }
  if (entry !== undefined && first > 0) {
    const since = new Date(entry.createdAt).toISOString();
    const message = `taken: the base, the steps to here and their files are those of the result ${entry.key} of ${since}`;
    log.add({ level: 'debug', message, step: String(plan.stepsBefore + first) });
  }
  const { place, key } = at(last);
  if (first === last && entry?.image != null && entry.imageBytes !== null)
    return { image: entry.image, imageBytes: entry.imageBytes, place, cacheKey: key };

  /** The result that the next one is made on. */
  let parent = entry?.key ?? base.cacheKey;
  const toReason = createReasons(plan, first);
  const steps = placeSteps(plan, { points, first });
  const made = await buildInSandbox(
    {
      ...build,
      templateId: build.build.templateId,
      origin: toOrigin(entry, { rootfs: base.rootfs, images }),
      steps,
      beforeStep: ({ step, number }) => {
        const name = String(number);
        log.add({ level: 'info', message: `step ${name}: ${describeStep(step)}`, step: name });
        const own = number - plan.stepsBefore;
        if (own < last && !changesFiles(step)) return;
        log.add({ level: 'debug', message: `not CACHED ${at(own).key}: ${toReason(own)}`, step: name });
      },
      afterStep: async ({ step, number }, hosted) => {
        const own = number - plan.stepsBefore;
        if (own === last || !changesFiles(step)) return;
        const result = { key: at(own).key, parent, description: describeStep(step) };
        const problem = await cache.keepFiles(hosted, result, { build: build.build, signal });
        share.done(result.key);
        if (problem === undefined) parent = result.key;
        else log.add({ level: 'info', message: `not kept: ${problem}`, step: String(number) });
      },
    },
    options,
  );
  const image = { image: made.digest, imageBytes: made.sizeBytes };
  const isNew = first < last || entry === undefined;
  const step = plan.steps.at(-1);
  const description = step === undefined ? 'FROM base' : describeStep(step);
  await cache.keepResult(image, { key, parent: isNew ? parent : entry.parent, description }, { isNew });
  share.done(key);
  return { ...image, place, cacheKey: key };
};

/** The steps after the first ones. */
const placeSteps = (
  { steps, stepsBefore }: FilesBuild['plan'],
  { points, first }: { points: readonly ChainPoint[]; first: number },
): PlacedStep[] => {
  return steps.flatMap((step, index) => {
    const { place } = points[index] as ChainPoint;
    return index < first ? [] : [{ step, place, number: stepsBefore + index + 1 }];
  });
};

const toOrigin = (
  entry: CacheEntry | undefined,
  { rootfs, images }: { rootfs: string; images: TemplateImages },
): InstanceOrigin => {
  if (entry?.snapshotId != null) return { snapshot: entry.snapshotId };
  return { rootfs: entry?.image == null ? rootfs : images.toPath(entry.image) };
};

/** Why a step runs, by its number in its stage. */
const createReasons =
  ({ steps, stepsBefore, cacheableSteps, forcedStep }: FilesBuild['plan'], first: number) =>
  (number: number): string => {
    if (cacheableSteps === null) return 'the build is forced';
    if (number > cacheableSteps)
      return `${forcedStep === stepsBefore + number ? 'the step' : `step ${forcedStep}`} is forced`;
    const changed = steps.findIndex((step, index) => index >= first && changesFiles(step)) + 1;
    if (changed === 0 || number <= changed)
      return 'no result of it; the step, its files or what is before it has changed, or the result was removed';
    return `step ${stepsBefore + changed} runs before it`;
  };
