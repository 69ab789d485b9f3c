import { request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { controlPaths, toUnpackQuery, type UnpackRequest } from '@skerry/contract/agent-control';
import type { Instance } from '@skerry/runtime';
import { readRefusal } from '../../agent-commands/read-refusal.ts';

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
        // Reports an archive, too, that was cut off before this.
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
