import { randomBytes } from 'node:crypto';
import { hashToken } from '@skerry/contract/agent-access';
import { type Instance, isRuntimeError, RuntimeLostError } from '@skerry/runtime';
import { createSandboxRunner } from '../../agent-commands/run-in-sandbox.ts';
import { StartFailedError, startAndWait } from '../../agent-commands/start-commands.ts';
import type { Clock } from '../../clock.ts';
import type { HostedInstance, Hosts } from '../../hosts/hosts.ts';
import type { Log } from '../../log.ts';
import { keptAt } from '../../sandboxes/kept-at.ts';
import type { Snapshotter } from '../../sandboxes/snapshotter.ts';
import type { BuildRow, StartCommands } from '../../store/build-rows.ts';
import { BuildError } from '../build-error.ts';
import type { BuildLog } from '../build-log.ts';
import { type BuildSandbox, withSandbox } from '../with-sandbox.ts';

/** The start of a sandbox whose image is the one that the build has made. */
export interface BuildStartPhase
  extends Pick<BuildSandbox, 'instanceId' | 'origin' | 'limits' | 'isolation' | 'signal'> {
  build: BuildRow;
  commands: StartCommands;
  /** See `StartOptions`. */
  mayEnd: boolean;
  log: BuildLog;
}

export interface StartPhaseOptions {
  hosts: Pick<Hosts, 'forBuild' | 'features'>;
  snapshotter: Pick<Snapshotter, 'checkpoint' | 'release'>;
  clock: Clock;
  log: Log;
}

/**
 * Starts the commands of a build in a sandbox of its image, and resolves when they are ready: with the id of a checkpoint
 * in which they run, which the caller has to release, or with null where their processes cannot be kept. The sandbox is
 * gone when it settles. Rejects with `BuildError`, `StartEndedError`, the reason of `signal`, or what the runtime fails with.
 */
export const startInSandbox = async (
  phase: BuildStartPhase,
  options: StartPhaseOptions,
): Promise<string | null> => {
  const { build, commands, mayEnd, log, signal } = phase;
  const addLine = (level: 'debug' | 'info' | 'warn') => (message: string) =>
    log.add({ level, message, step: 'finalize' });
  const info = addLine('info');
  const onClosedPorts = (ports: readonly number[]): void =>
    addLine('warn')(
      `nothing listens on port ${ports.join(', ')} after 20 s: a start command that needs longer needs a ready command`,
    );
  // Nothing has this token: until its first request a copy answers only the platform.
  const accessTokenSha256 = hashToken(randomBytes(32).toString('hex'));
  const toStep = () => 'finalize';
  const sandbox = { ...phase, templateId: build.templateId, accessTokenSha256, toStep };
  let checkpointId: string | null = null;
  const work = async (hosted: HostedInstance, edgeNonce: string): Promise<void> => {
    const { instance } = hosted;
    if (commands.startCmd !== null) info(`START ${commands.startCmd}`);
    if (commands.readyCmd !== null) info(`waiting for ${commands.readyCmd}`);
    else if (commands.exposedPorts !== undefined)
      info(`waiting for port ${commands.exposedPorts.join(', ')}`);
    const runner = createSandboxRunner(instance, { edgeNonce });
    const { clock } = options;
    const onCheckLine = addLine('debug');
    try {
      await startAndWait(commands, {
        runner,
        clock,
        onLine: info,
        onCheckLine,
        onClosedPorts,
        mayEnd,
        signal,
      });
    } catch (error) {
      if (!(error instanceof StartFailedError)) throw error;
      throw new BuildError('finalize', error.message, { cause: error });
    }
    if (commands.startCmd === null) return;
    await requireFreeDisk(instance, build);
    checkpointId = await keepProcesses(hosted, phase, options);
  };
  try {
    await withSandbox(sandbox, options, work);
    return checkpointId;
  } catch (error) {
    // The sandbox could not be stopped: no caller gets the id.
    if (checkpointId !== null) await options.snapshotter.release(checkpointId);
    throw error;
  }
};

/** A sandbox begins with what its start command has written. */
const requireFreeDisk = async (instance: Instance, { minFreeDiskMb }: BuildRow): Promise<void> => {
  if (minFreeDiskMb === 0) return;
  const { freeDiskBytes } = await instance.usage();
  const freeMb = Math.floor(freeDiskBytes / 2 ** 20);
  if (freeMb < minFreeDiskMb)
    throw new BuildError(
      'finalize',
      `the start command leaves ${freeMb} MiB of the disk free, which is less than minFreeDiskMb, ${minFreeDiskMb}`,
    );
};

const keepProcesses = async (
  hosted: HostedInstance,
  { build, isolation, log: buildLog }: BuildStartPhase,
  { hosts, snapshotter, log }: StartPhaseOptions,
): Promise<string | null> => {
  if (!keptAt(hosts.features, isolation).snapshot.memory) return null;
  buildLog.add({ level: 'info', message: 'keeping the running processes', step: 'finalize' });
  try {
    return await snapshotter.checkpoint(hosted, build);
  } catch (error) {
    if (isRuntimeError(error, 'exhausted') || error instanceof RuntimeLostError) throw error;
    log.warn('the processes of a build could not be kept', { buildId: build.id, error });
    const message = 'the running processes cannot be kept: each sandbox starts the command again';
    buildLog.add({ level: 'warn', message, step: 'finalize' });
    return null;
  }
};
