import { createSandboxRunner } from '../agent-commands/run-in-sandbox.ts';
import type { Clock } from '../clock.ts';
import type { HostedInstance, Hosts } from '../hosts/hosts.ts';
import type { Limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { BuildLog } from './build-log.ts';
import { runBuildStep } from './build-steps.ts';
import { keepImage } from './cache/keep-image.ts';
import type { MountCaches } from './mounts/mount-caches.ts';
import { createMounter } from './mounts/mounter.ts';
import type { PositionedStep } from './step-position.ts';
import type { ArchiveStore } from './uploads/archive-store.ts';
import { createCopyRunner, type WithStage } from './uploads/copy-runner.ts';
import { type BuildSandbox, withSandbox } from './with-sandbox.ts';

export interface StepsOptions {
  hosts: Pick<Hosts, 'forBuild'>;
  buildFiles: ArchiveStore | undefined;
  caches: MountCaches | undefined;
  withStage: WithStage;
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'buildTimeoutMs'>;
}

/** A sandbox in which steps run, one after another. */
export interface StepsSandbox {
  readonly hosted: HostedInstance;
  /** Runs a step to its end. Rejects with `BuildError` when the step fails. */
  run(step: PositionedStep): Promise<void>;
  /** Ends all processes, and makes an image of the files. No step can run afterwards. */
  writeImage(): Promise<{ digest: string; sizeBytes: number }>;
}

const FINALIZE = 'finalize';

/**
 * Calls `work` with a new sandbox for steps, and resolves with what that resolves with. The sandbox is gone when it settles. Rejects
 * with `BuildError`, `LostSnapshotError`, the reason of `signal`, or what the runtime or `work` fails with.
 */
export const withStepsSandbox = <T>(
  build: Omit<BuildSandbox, 'toStep'> & { log: BuildLog; firstStep: number | undefined },
  options: StepsOptions,
  work: (sandbox: StepsSandbox) => Promise<T>,
): Promise<T> => {
  const { log, signal, templateId } = build;
  const { buildFiles, caches, withStage, clock } = options;
  let name = String(build.firstStep ?? FINALIZE);
  return withSandbox({ ...build, toStep: () => name }, options, (hosted) => {
    const { host, instance } = hosted;
    const runner = createSandboxRunner(instance);
    const copyRunner = createCopyRunner(instance, { buildFiles, withStage });
    const mounter = createMounter(instance, { caches, copyRunner, templateId, log });
    const { buildTimeoutMs } = options.limits;
    return work({
      hosted,
      run: (positioned) => {
        name = String(positioned.number);
        return runBuildStep(positioned, {
          runner,
          copyRunner,
          mounter,
          clock,
          buildTimeoutMs,
          log,
          name,
          signal,
        });
      },
      writeImage: async () => {
        name = FINALIZE;
        log.add({ level: 'info', message: 'writing the image', step: name });
        await instance.pause({ memory: false });
        return keepImage(host, build.instanceId, (path) => instance.exportImage({ path, signal }));
      },
    });
  });
};
