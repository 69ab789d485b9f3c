import { request as httpRequest, type IncomingMessage } from 'node:http';
import {
  controlPaths,
  type StandInRequest,
  toEndQuery,
  toStandInQuery,
} from '@skerry/contract/agent-control';
import type { Instance } from '@skerry/runtime';
import { readRefusal } from './read-refusal.ts';

type Controlled = Pick<Instance, 'control'>;

/**
 * Ends every process of a sandbox but the agent as soon as that one has ended. Rejects with the reason of `signal`, or what the
 * private channel fails with.
 */
export const endAllWith = (
  instance: Controlled,
  pid: number,
  { signal }: { signal: AbortSignal },
): Promise<void> => post(instance, `${controlPaths.endAll}?${toEndQuery(pid)}`, signal);

/** Puts an empty folder, or nothing, in the place of what is at a path. Rejects with `RefusedArchiveError`, or as `endAllWith` does. */
export const standIn = (
  instance: Controlled,
  request: StandInRequest,
  { signal }: { signal: AbortSignal },
): Promise<void> => post(instance, `${controlPaths.standIn}?${toStandInQuery(request)}`, signal);

/** Removes what is at a path, and puts back what `standIn` has set aside there. Rejects as `standIn` does. */
export const putBack = (
  instance: Controlled,
  target: string,
  { signal }: { signal: AbortSignal },
): Promise<void> =>
  post(instance, `${controlPaths.putBack}?${new URLSearchParams({ target }).toString()}`, signal);

const post = async (instance: Controlled, path: string, signal: AbortSignal): Promise<void> => {
  const channel = await instance.control({ signal });
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { host: 'localhost', 'content-length': 0 };
      const call = httpRequest({ method: 'POST', path, headers, signal, createConnection: () => channel });
      call.on('response', resolve).on('error', reject).end();
    });
    if (response.statusCode !== 204) throw await readRefusal(response, path);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    channel.destroy();
  }
};
