import { request } from 'node:http';
import { type AgentInit, type ControlBodies, controlPaths } from '@skerry/contract/agent-control';
import type { Instance } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { NewSandbox } from '../store/store.ts';
import { toAccessToken } from '../tokens.ts';

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

/**
 * Sends `/init` over the private channel. Resolves when the agent has applied all of it; rejects when the channel
 * fails, the agent refuses, or the signal aborts.
 */
export const initAgent = (
  instance: Pick<Instance, 'control'>,
  init: AgentInit,
  options: { signal: AbortSignal },
): Promise<void> => postToAgent(instance, { path: controlPaths.init, body: init }, options);

/**
 * Posts JSON to the agent of a sandbox over its private channel. Resolves when the agent has taken it; rejects when the channel
 * fails, the agent refuses, or the signal aborts.
 */
export const postToAgent = async <Path extends keyof ControlBodies>(
  instance: Pick<Instance, 'control'>,
  { path, body }: { path: Path; body: ControlBodies[Path] },
  { signal }: { signal: AbortSignal },
): Promise<void> => {
  const channel = await instance.control({ signal });
  try {
    await new Promise<void>((resolve, reject) => {
      const json = JSON.stringify(body);
      const headers = {
        host: 'localhost',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(json),
      };
      const options = { method: 'POST', path, headers, signal, createConnection: () => channel };
      request(options, (response) => {
        if (response.statusCode === 204) resolve();
        const refuse = (answer: string): void =>
          reject(new Error(`the agent answered ${response.statusCode} to ${path}: ${answer.slice(0, 500)}`));
        // The beginning is enough: code inside may speak for the agent and never end its answer.
        response
          .setEncoding('utf8')
          .once('data', refuse)
          .once('end', () => refuse(''))
          .once('error', reject);
      })
        .on('error', reject)
        .end(json);
    });
  } finally {
    channel.destroy();
  }
};
