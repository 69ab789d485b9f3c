import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Instance } from '@skerry/runtime';

/** What the agent of a sandbox is told before anybody else may talk to it. */
export interface AgentInit {
  sandboxId: string;
  templateId: string;
  /** Replaces the variables that the agent had. */
  envVars: Record<string, string>;
  /** Without one the agent answers everybody. */
  accessToken?: string;
  /** RFC 3339; the agent sets its clock by it and ignores an older one than it has seen. */
  timestamp: string;
  defaultUser: string;
}

/**
 * Tells the agent over its private channel. Resolves when the agent has applied all of it; rejects when the channel
 * fails, the agent refuses, or the signal aborts.
 */
export const initAgent = async (
  instance: Pick<Instance, 'control'>,
  init: AgentInit,
  { signal }: { signal: AbortSignal },
): Promise<void> => {
  const channel = await instance.control({ signal });
  try {
    await new Promise<void>((resolve, reject) => {
      const body = JSON.stringify(init);
      const headers = {
        host: 'localhost',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      };
      const options = { method: 'POST', path: '/init', headers, signal, createConnection: () => channel };
      request(options, (response) => {
        text(response).then((answer) => {
          if (response.statusCode === 204) resolve();
          else
            reject(new Error(`the agent answered ${response.statusCode} to /init: ${answer.slice(0, 500)}`));
        }, reject);
      })
        .on('error', reject)
        .end(body);
    });
  } finally {
    channel.destroy();
  }
};
