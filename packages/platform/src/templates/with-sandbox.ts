import { randomBytes } from 'node:crypto';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { type Instance, type InstanceOrigin, type InstanceSettings, isRuntimeError } from '@skerry/runtime';
import { OPEN_NETWORK } from '@skerry/runtime/network';
import type { Clock } from '../clock.ts';
import { findInstanceOn } from '../hosts/find-instance.ts';
import type { Host, HostedInstance, Hosts } from '../hosts/hosts.ts';
import { NodeUnreachableError } from '../hosts/unreachable.ts';
import type { Log } from '../log.ts';
import { DEFAULT_USER, initAgent } from '../sandboxes/agent.ts';
import { retryWhenLost } from '../sandboxes/retry-when-lost.ts';
import { BuildError } from './build-error.ts';

/** A sandbox of a build, which exists only as long as the work in it. */
export interface BuildSandbox {
  /** Id of the instance. */
  instanceId: string;
  templateId: string;
  origin: InstanceOrigin;
  limits: InstanceSettings['limits'];
  isolation: IsolationLevel;
  /** The SHA-256 of the token that its agent requires; without one it requires none. No edge leads to it. */
  accessTokenSha256?: string;
  /** The name of the step that runs, as whose failure a full host is reported. Without it such an error stays as it is. */
  toStep?: () => string;
  signal: AbortSignal;
}

/** The snapshot with which a sandbox has to begin cannot be used any more. */
export class LostSnapshotError extends Error {}

/**
 * Calls `work` with a new instance, whose agent is initialised, and the nonce of its edge. Resolves with what that resolves
 * with. The instance is gone when it settles. Rejects with the reason of `signal`, with `BuildError` when the host has too
 * little room, with `LostSnapshotError`, with `NodeUnreachableError`, and otherwise with what `work` or the runtime fails with.
 */
export const withSandbox = async <T>(
  sandbox: BuildSandbox,
  { hosts, clock, log }: { hosts: Pick<Hosts, 'forBuild'>; clock: Clock; log: Log },
  work: (hosted: HostedInstance, edgeNonce: string) => Promise<T>,
): Promise<T> => {
  const {
    instanceId: id,
    templateId,
    origin,
    limits,
    isolation,
    accessTokenSha256,
    toStep,
    signal,
  } = sandbox;
  let host: Host | undefined;
  let instance: Instance | undefined;
  // The runtime may have been lost with the answer of the create, or with the instance as this process knew it.
  const end = (): Promise<void> =>
    retryWhenLost(async () => {
      const found = instance ?? (host && (await findInstanceOn(host, id)));
      instance = undefined;
      await found?.stop();
    });
  const create = async (): Promise<HostedInstance> => {
    host = await hosts.forBuild(origin, isolation);
    const spec = {
      id,
      hostname: id,
      limits,
      isolation,
      network: OPEN_NETWORK,
      ...(await host.prepare(origin)),
    };
    return { host, instance: await host.runtime.create(spec, { signal }) };
  };
  try {
    const hosted = await create().catch((error: unknown) => {
      const isLost = isRuntimeError(error, 'not_found') || isRuntimeError(error, 'damaged');
      if ('snapshot' in origin && isLost) throw new LostSnapshotError(error.message, { cause: error });
      if (isRuntimeError(error, 'unsupported'))
        throw new BuildError(toStep?.() ?? 'base', error.message, { cause: error });
      throw error;
    });
    instance = hosted.instance;
    const edgeNonce = randomBytes(32).toString('hex');
    await initAgent(
      instance,
      {
        sandboxId: id,
        templateId,
        envVars: {},
        ...(accessTokenSha256 !== undefined && { accessTokenSha256 }),
        edgeNonce,
        cpuCount: limits.cpuCount,
        memoryMb: limits.memoryBytes / 2 ** 20,
        timestamp: new Date(clock.now()).toISOString(),
        defaultUser: DEFAULT_USER,
      },
      { signal },
    );
    const result = await work(hosted, edgeNonce);
    await end();
    return result;
  } catch (error) {
    // The failure of the work says more than that of the end, which the next round of reconcile repeats.
    const left = await end().catch((failure: unknown) => {
      log.warn('the sandbox of a build could not be ended', { sandboxId: id, error: failure });
      return failure;
    });
    signal.throwIfAborted();
    // Report this as the reason why the work has failed.
    if (left instanceof NodeUnreachableError) throw left;
    if (toStep !== undefined && isRuntimeError(error, 'exhausted'))
      throw new BuildError(toStep(), 'the host has too little free space or memory for this build', {
        cause: error,
      });
    throw error;
  }
};
