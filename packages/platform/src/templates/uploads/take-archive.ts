import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import {
  controlPaths,
  type PackedArchive,
  parsePackHeaders,
  toPackQuery,
} from '@skerry/contract/agent-control';
import type { Instance } from '@skerry/runtime';
import { readRefusal } from '../../agent-commands/read-refusal.ts';

/**
 * The files at a path of a sandbox, or those that match a pattern, as its agent packs them over the private channel; with `inside` what
 * is in the folder at the path, by names in it. The caller reads the archive to its end or destroys it. Rejects with `RefusedArchiveError`, the reason of `signal`, or what the
 * channel fails with.
 */
export const takeArchive = async (
  instance: Pick<Instance, 'control'>,
  path: string,
  { inside = false, signal }: { inside?: boolean; signal: AbortSignal },
): Promise<PackedArchive & { archive: Readable }> => {
  const channel = await instance.control({ signal });
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const target = `${controlPaths.pack}?${toPackQuery({ source: path, inside })}`;
      const headers = { host: 'localhost' };
      const call = httpRequest({ path: target, headers, signal, createConnection: () => channel });
      call.on('response', resolve).on('error', reject).end();
    });
    if (response.statusCode !== 200) throw await readRefusal(response, controlPaths.pack);
    response.once('close', () => channel.destroy());
    return { ...parsePackHeaders(response.headers), archive: response };
  } catch (error) {
    channel.destroy();
    signal.throwIfAborted();
    throw error;
  }
};
