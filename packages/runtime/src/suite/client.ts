import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import { agentPort } from '@skerry/contract/directory';
import type { Instance } from '../runtime.ts';

export interface GuestResult {
  code: number | null;
  output: string;
}

/** Runs a shell script inside, through the suite's guest. As root of the sandbox when no uid is given. */
export const runInside = async (
  instance: Instance,
  script: string,
  options: { uid?: number; timeoutMs?: number } = {},
): Promise<GuestResult> => {
  const socket = await instance.connect(agentPort);
  const body = JSON.stringify({ argv: ['/bin/sh', '-c', script], uid: options.uid ?? 0 });
  return JSON.parse(await callGuest(socket, { path: '/run', body, timeoutMs: options.timeoutMs ?? 20_000 }));
};

/** Whether the suite's guest answers, and still starts programs. */
export const isAlive = async (instance: Instance): Promise<boolean> =>
  (await runInside(instance, 'echo alive')).output === 'alive\n';

/** A script that prints the names of the network interfaces inside, a line each. */
export const listInterfaces = `tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort`;

/** One HTTP call over a stream that is open already. */
export const callGuest = (
  socket: Duplex,
  options: { path: string; body?: string; timeoutMs?: number },
): Promise<string> =>
  new Promise((resolve, reject) => {
    const call = request({
      method: 'POST',
      path: options.path,
      createConnection: () => socket,
      signal: AbortSignal.timeout(options.timeoutMs ?? 20_000),
    });
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => {
        socket.destroy();
        resolve(text);
      });
    });
    call.on('error', reject);
    call.end(options.body);
  });
