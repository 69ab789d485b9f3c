import { request } from 'node:http';
import { hashToken } from '@skerry/contract/agent-access';
import { type AgentInit, type ControlBodies, controlPaths } from '@skerry/contract/agent-control';
import { inSpan } from '@skerry/contract/tracing';
import type { Instance } from '@skerry/runtime';
import type { Clock } from '../clock.ts';
import type { NewSandbox } from '../store/rows.ts';
import { toAgentKeys } from '../tokens.ts';

/** The user of sandboxes whose template names none. */
export const DEFAULT_USER = 'user';

/**
 * Sends the agent of a run the settings of its sandbox: variables, hash of the token, limits, default user and folder, time, and the
 * nonce of the run. All but time and nonce are the same at the first start and after each resume. Rejects as `initAgent` does.
 */
export const setUpAgent = async (
  instance: Pick<Instance, 'control' | 'runId'>,
  sandbox: NewSandbox,
  { secret, clock, signal }: { secret: string; clock: Pick<Clock, 'now'>; signal: AbortSignal },
): Promise<void> => {
  const { accessToken, edgeNonce } = toAgentKeys(secret, sandbox, instance.runId);
  await initAgent(
    instance,
    {
      sandboxId: sandbox.id,
      templateId: sandbox.templateId,
      envVars: sandbox.envVars,
      ...(accessToken !== undefined && { accessTokenSha256: hashToken(accessToken) }),
      edgeNonce,
      cpuCount: sandbox.cpuCount,
      memoryMb: sandbox.memoryMb,
      timestamp: new Date(clock.now()).toISOString(),
      // The agent has a slash before the group: a name of Basic authentication cannot have a colon.
      defaultUser: (sandbox.defaultUser || DEFAULT_USER).replace(':', '/'),
      ...(sandbox.defaultWorkdir !== '' && { defaultWorkdir: sandbox.defaultWorkdir }),
    },
    { signal },
  );
};

/**
 * Sends `/init` over the private channel. Resolves when the agent has applied the whole body; rejects when the channel
 * fails, the agent refuses, or the signal aborts.
 */
export const initAgent = (
  instance: Pick<Instance, 'control'>,
  init: AgentInit,
  options: { signal: AbortSignal },
): Promise<void> => postToAgent(instance, { path: controlPaths.init, body: init }, options);

/**
 * Posts JSON to the agent of a sandbox over its private channel. Resolves when the agent has accepted it; rejects when
 * the channel fails, the agent refuses, or the signal aborts.
 */
export const postToAgent = <Path extends keyof ControlBodies>(
  instance: Pick<Instance, 'control'>,
  message: { path: Path; body: ControlBodies[Path] },
  options: { signal: AbortSignal },
): Promise<void> =>
  inSpan(
    () => ({ name: `agent POST ${message.path}` }),
    () => post(instance, message, options),
  );

const post = async <Path extends keyof ControlBodies>(
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
        // The beginning is enough: code inside may impersonate the agent and send without end.
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
