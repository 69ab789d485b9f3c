import type { Clock } from '../clock.ts';
import type { HostedInstance, Hosts } from '../hosts/hosts.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { BuildLog } from './build-log.ts';
import { runBuildStep } from './build-steps.ts';
import { keepImage } from './cache/keep-image.ts';
import type { MountCaches } from './mounts/mount-caches.ts';
import { createMounting } from './mounts/mounting.ts';
import { createSandboxRunner } from './run-in-sandbox.ts';
import type { PlacedStep } from './step-place.ts';
import type { ContextStore } from './uploads/context-store.ts';
import { createCopying, type WithStage } from './uploads/run-copy.ts';
import { type BuildSandbox, withSandbox } from './with-sandbox.ts';

export interface SandboxBuild extends BuildSandbox {
  steps: readonly PlacedStep[];
  log: BuildLog;
  beforeStep: (step: PlacedStep) => void;
  /** Called with the sandbox as the step has left it. */
  afterStep: (step: PlacedStep, hosted: HostedInstance) => Promise<void>;
}

const FINALIZE = 'finalize';

/**
 * Runs steps of a build in a sandbox of its own and makes an image of the files that it then has. The sandbox is gone when it
 * settles. Rejects with `BuildError`, `LostSnapshotError`, the reason of `signal`, or what the runtime or `afterStep` fails with.
 */
export const buildInSandbox = async (
  build: SandboxBuild,
  {
    hosts,
    contexts,
    caches,
    withStage,
    clock,
    log: serverLog,
    limits: { buildTimeoutMs },
  }: {
    hosts: Pick<Hosts, 'forBuild'>;
    contexts: ContextStore | undefined;
    caches: MountCaches | undefined;
    withStage: WithStage;
    clock: Clock;
    log: Log;
    limits: Pick<Limits, 'buildTimeoutMs'>;
  },
): Promise<{ digest: string; sizeBytes: number }> => {
  const { steps, log, signal, beforeStep, afterStep } = build;
  let name = String(steps[0]?.number ?? FINALIZE);
  return withSandbox({ ...build, toStep: () => name }, { hosts, clock, log: serverLog }, async (hosted) => {
    const { host, instance } = hosted;
    const runner = createSandboxRunner(instance);
    const copying = createCopying(instance, { contexts, withStage });
    const mounting = createMounting(instance, { caches, copying, templateId: build.templateId, log });
    for (const placed of steps) {
      const { number } = placed;
      beforeStep(placed);
      name = String(number);
      await runBuildStep(placed, { runner, copying, mounting, clock, buildTimeoutMs, log, name, signal });
      await afterStep(placed, hosted);
    }
    name = FINALIZE;
    log.add({ level: 'info', message: 'writing the image', step: name });
    await instance.pause({ memory: false });
    return keepImage(host, build.instanceId, (path) => instance.exportImage({ path, signal }));
  });
};
