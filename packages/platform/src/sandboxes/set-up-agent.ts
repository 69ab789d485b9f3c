import type { Instance } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { NewSandbox } from '../store/store.ts';
import { toAccessToken } from '../tokens.ts';
import { initAgent } from './init-agent.ts';

/**
 * Gives the agent of a run what belongs to its sandbox: variables, token, default user, time. The same at the first start
 * and after each resume. Rejects as `initAgent` does.
 */
export const setUpAgent = (
  instance: Pick<Instance, 'control'>,
  sandbox: NewSandbox,
  { secret, clock, signal }: { secret: string; clock: Pick<Clock, 'now'>; signal: AbortSignal },
): Promise<void> =>
  initAgent(
    instance,
    {
      sandboxId: sandbox.id,
      templateId: sandbox.templateId,
      envVars: sandbox.envVars,
      ...(sandbox.secure && { accessToken: toAccessToken(secret, sandbox.id) }),
      timestamp: new Date(clock.now()).toISOString(),
      defaultUser: 'user',
    },
    { signal },
  );
