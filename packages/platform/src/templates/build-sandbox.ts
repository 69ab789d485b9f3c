import type { Instance, Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { BuildLog } from './build-log.ts';
import type { BuildStep } from './build-plan.ts';
import { runBuildStep } from './build-steps.ts';
import type { ContextStore } from './contexts/context-store.ts';
import { createCopying } from './contexts/run-copy.ts';
import type { Place } from './place.ts';
import { createSandboxRunner } from './run-in-sandbox.ts';
import type { TemplateImages } from './template-images.ts';
import { type BuildSandbox, withSandbox } from './with-sandbox.ts';

export interface SandboxBuild extends BuildSandbox {
  buildId: string;
  steps: readonly PlacedStep[];
  log: BuildLog;
  beforeStep: (step: PlacedStep) => void;
  /** Called with the sandbox as the step has left it. */
  afterStep: (step: PlacedStep, instance: Instance) => Promise<void>;
}

/** A step and where it runs. */
export interface PlacedStep {
  step: BuildStep;
  place: Place;
  /** Its number in the build, from 1. */
  number: number;
}

/**
 * Runs steps of a build in a sandbox of its own and makes an image of the files that it then has. The sandbox is gone when it
 * settles. Rejects with `BuildError`, `LostSnapshotError`, the reason of `signal`, or what the runtime or `afterStep` fails with.
 */
export const buildInSandbox = async (
  build: SandboxBuild,
  {
    runtime,
    images,
    contexts,
    clock,
  }: { runtime: Runtime; images: TemplateImages; contexts: ContextStore | undefined; clock: Clock },
): Promise<{ digest: string; sizeBytes: number }> => {
  const { buildId, steps, log, signal, beforeStep, afterStep } = build;
  return withSandbox(build, { runtime, clock }, async (instance) => {
    const runner = createSandboxRunner(instance);
    const copying = createCopying(instance, { contexts });
    for (const placed of steps) {
      const { step, place, number } = placed;
      beforeStep(placed);
      await runBuildStep(step, { runner, copying, place, log, name: String(number), signal });
      await afterStep(placed, instance);
    }
    log.add({ level: 'info', message: 'writing the image', step: 'finalize' });
    await instance.pause({ memory: false });
    const file = images.toUnfinished(buildId);
    const made = await instance.exportImage({ path: file, signal });
    await images.keep({ file, digest: made.digest });
    return made;
  });
};
