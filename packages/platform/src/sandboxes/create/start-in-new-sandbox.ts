import type { IsolationLevel } from '@skerry/contract/isolation';
import type { Features, Instance } from '@skerry/runtime';
import { createSandboxRunner } from '../../agent-commands/run-in-sandbox.ts';
import { startAndWait } from '../../agent-commands/start-commands.ts';
import type { Clock } from '../../clock.ts';
import type { BuildRow, StartCommands } from '../../store/build-rows.ts';
import type { NewSandbox, SnapshotRow } from '../../store/rows.ts';
import type { Store } from '../../store/store.ts';
import { toAgentKeys } from '../../tokens.ts';
import { setUpAgent } from '../agent.ts';
import { keptAt } from '../kept-at.ts';

/** The checkpoint of a build; null where this server cannot restore it, or not at that level and the size of the build. */
export const findCheckpoint = async (
  build: BuildRow,
  {
    store,
    features,
    isolation,
  }: { store: Pick<Store, 'findSnapshotRow'>; features: Features; isolation: IsolationLevel },
): Promise<SnapshotRow | null> => {
  if (build.checkpointId === null || !keptAt(features, isolation).snapshot.memory) return null;
  const found = await store.findSnapshotRow(build.checkpointId);
  const isUsable =
    found?.state === 'ready' &&
    found.isolation === isolation &&
    found.cpuCount === build.cpuCount &&
    found.memoryMb === build.memoryMb &&
    found.diskMb === build.diskMb;
  return isUsable ? found : null;
};

/** The commands that a sandbox of a build has to start itself, when it does not begin with the checkpoint. */
export const toOwnCommands = (build: BuildRow | null): StartCommands | null =>
  build?.start?.startCmd == null ? null : build.start;

/**
 * Starts the command of its template in a new sandbox, before its agent has the variables of the sandbox. Resolves when
 * it is ready; `setUpAgent` must follow. Rejects as `startAndWait` and `setUpAgent` do.
 */
export const startInNewSandbox = async (
  instance: Instance,
  { sandbox, commands }: { sandbox: NewSandbox; commands: StartCommands },
  options: { secret: string; clock: Clock; agentTimeoutMs: number; signal: AbortSignal },
): Promise<void> => {
  const { secret, clock, signal, agentTimeoutMs } = options;
  const soon = AbortSignal.any([signal, AbortSignal.timeout(agentTimeoutMs)]);
  await setUpAgent(instance, { ...sandbox, envVars: {} }, { ...options, signal: soon });
  const { edgeNonce } = toAgentKeys(secret, sandbox, instance.runId);
  const runner = createSandboxRunner(instance, { edgeNonce });
  const ignore = (): void => undefined;
  await startAndWait(commands, { runner, clock, onLine: ignore, onCheckLine: ignore, signal });
};
