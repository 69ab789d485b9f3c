import { request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { controlPaths, toUnpackQuery, type UnpackRequest } from '@skerry/contract/agent-control';
import type { Instance } from '@skerry/runtime';

/** The agent refuses an archive. The message is the agent's. */
export class RefusedArchiveError extends Error {}

/** What is read of an answer: code inside may impersonate the agent and send without end. */
const MAX_ANSWER_LENGTH = 4_096;
/** The caller of the build can change what leads to these. */
const refusals = [400, 401, 507];

/**
 * Sends an archive to the agent of a sandbox over its private channel, which unpacks it there. Resolves when everything
 * is written. Rejects with `RefusedArchiveError`, the reason of `signal`, or what the channel fails with; the archive is
 * destroyed in any case.
 */
export const sendArchive = async (
  instance: Pick<Instance, 'control'>,
  { archive, sizeBytes }: { archive: Readable; sizeBytes?: number },
  request: UnpackRequest,
  { signal }: { signal: AbortSignal },
): Promise<void> => {
  try {
    const channel = await instance.control({ signal });
    try {
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const path = `${controlPaths.unpack}?${toUnpackQuery(request)}`;
        const headers = {
          host: 'localhost',
          ...(sizeBytes !== undefined && { 'content-length': sizeBytes }),
        };
        const call = httpRequest({ method: 'POST', path, headers, signal, createConnection: () => channel });
        call.on('response', resolve).on('error', reject);
        // Also reports an archive that was cut off before this.
        pipeline(archive, call, (error) => error && reject(error));
      });
      if (response.statusCode === 204) return;
      throw await readRefusal(response, controlPaths.unpack);
    } finally {
      channel.destroy();
    }
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    archive.destroy();
  }
};

/** The error that an answer of the agent is: `RefusedArchiveError` where the owner of the build can change the cause. */
export const readRefusal = async (response: IncomingMessage, path: string): Promise<Error> => {
  const answer = await readAnswer(response);
  if (refusals.includes(response.statusCode ?? 0)) return new RefusedArchiveError(toMessage(answer));
  return new Error(`the agent answered ${response.statusCode} to ${path}: ${answer.slice(0, 500)}`);
};

const readAnswer = async (response: IncomingMessage): Promise<string> => {
  let answer = '';
  for await (const piece of response.setEncoding('utf8')) {
    answer += piece;
    if (answer.length > MAX_ANSWER_LENGTH) break;
  }
  return answer.slice(0, MAX_ANSWER_LENGTH);
};

const toMessage = (answer: string): string => {
  try {
    const { message } = JSON.parse(answer) as { message?: unknown };
    return typeof message === 'string' ? message : answer;
  } catch {
    // Another program than the agent may have answered.
    return answer;
  }
};
