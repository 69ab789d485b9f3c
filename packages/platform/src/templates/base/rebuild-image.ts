import type { Instance, Runtime } from '@skerry/runtime';
import { createSandboxRunner } from '../../agent-commands/run-in-sandbox.ts';
import { createSystemClock } from '../../clock.ts';
import { createOneMachine } from '../../hosts/one-machine.ts';
import { createRandomIds } from '../../ids.ts';
import { defaultLimits } from '../../limits.ts';
import type { Log } from '../../log.ts';
import { withSandbox } from '../with-sandbox.ts';

/** How many lines of its output the error of a script has. */
const SHOWN_LINES = 30;
const DISK_MB = 16 * 1024;

/** A script of the shell of an image failed. The message ends with its last lines. */
export class FailedScriptError extends Error {}

/**
 * Runs a script as root in a new sandbox of an image, as a step of a build runs, and writes the files that it leaves as a new image at
 * `path`. The sandbox is gone when it settles. Rejects with `FailedScriptError`, the reason of `signal`, or what the runtime
 * fails with.
 */
export const rebuildImage = async ({
  runtime,
  rootfs,
  script,
  path,
  log,
  signal,
}: {
  runtime: Runtime;
  rootfs: string;
  script: string;
  path: string;
  log: Log;
  signal: AbortSignal;
}): ReturnType<Instance['exportImage']> => {
  const { cpuCount, memoryMb, processCount } = defaultLimits;
  const limits = { cpuCount, memoryBytes: memoryMb * 2 ** 20, diskBytes: DISK_MB * 2 ** 20, processCount };
  const sandbox = {
    instanceId: createRandomIds().sandboxId(),
    templateId: 'base',
    origin: { rootfs },
    limits,
    isolation: runtime.features.level,
    signal,
  };
  const hosts = createOneMachine({ runtime });
  return withSandbox(sandbox, { hosts, clock: createSystemClock(), log }, async ({ instance }) => {
    const last: string[] = [];
    const onLine = (line: string): void => {
      if (last.push(line) > SHOWN_LINES) last.shift();
    };
    const command = { file: '/bin/sh', args: ['-c', script], user: 'root', cwd: '/', env: {} };
    const status = await createSandboxRunner(instance).run(command, { onLine, signal });
    if (status !== 0)
      throw new FailedScriptError(`the script ended with status ${status}\n${last.join('\n')}`);
    await instance.pause({ memory: false });
    return instance.exportImage({ path, signal });
  });
};
