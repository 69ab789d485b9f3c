import type { Runtime } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { BuildLog } from './build-log.ts';
import type { BuildStep } from './build-plan.ts';
import { type Place, runBuildSteps } from './build-steps.ts';
import type { ContextStore } from './contexts/context-store.ts';
import { createCopying, type WithStage } from './contexts/run-copy.ts';
import { createSandboxRunner } from './run-in-sandbox.ts';
import type { TemplateImages } from './template-images.ts';
import { type BuildSandbox, withSandbox } from './with-sandbox.ts';

export interface SandboxBuild extends BuildSandbox {
  /** Where the first step runs. */
  place: Place;
  steps: readonly BuildStep[];
  stepsBefore: number;
  log: BuildLog;
}

/**
 * Runs the steps of a build in a sandbox of its own and makes an image of the files that it then has. Resolves
 * with that, and with where a further step would run. The sandbox is gone when it settles. Rejects with `BuildError`, the reason of `signal`, or what the runtime fails with.
 */
export const buildInSandbox = async (
  build: SandboxBuild,
  {
    runtime,
    images,
    contexts,
    withStage,
    clock,
  }: {
    runtime: Runtime;
    images: TemplateImages;
    contexts: ContextStore | undefined;
    withStage: WithStage;
    clock: Clock;
  },
): Promise<{ digest: string; sizeBytes: number; place: Place }> => {
  const { steps, stepsBefore, log, signal } = build;
  return withSandbox(build, { runtime, clock }, async (instance) => {
    const runner = createSandboxRunner(instance);
    const copying = createCopying(instance, { contexts, withStage });
    const place = await runBuildSteps(steps, {
      runner,
      copying,
      place: build.place,
      stepsBefore,
      log,
      signal,
    });
    log.add({ level: 'info', message: 'writing the image', step: 'finalize' });
    await instance.pause({ memory: false });
    const file = images.toUnfinished(build.instanceId);
    const made = await instance.exportImage({ path: file, signal });
    await images.keep({ file, digest: made.digest });
    return { ...made, place };
  });
};
