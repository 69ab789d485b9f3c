import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { TLSSocket } from 'node:tls';
import { RuntimeError } from '../error.ts';
import { parseAnswer, readLine } from '../line-protocol.ts';
import type { Credentials } from './credentials.ts';
import { dialNode, type NodeAddress } from './dial-node.ts';
import { take } from './image-door.ts';
import type { ImageRequest } from './opening.ts';

/** The images of the templates of a node, as a server reads and writes them. */
export interface RemoteImages {
  find(digest: string): Promise<boolean>;
  /** Rejects with `not_found` when the node has none. The body fails when it is cut; it must be read or destroyed. */
  read(digest: string): Promise<{ sizeBytes: number; body: Readable }>;
  /**
   * Resolves when the node has the image, also when it had it before and the body was not read. Rejects with what the node says, and with
   * `unavailable` when the connection breaks.
   */
  write(image: { digest: string; sizeBytes: number }, body: Readable): Promise<void>;
}

/** A transfer in which no byte moves for so long is ended; a node that has the last one writes all to its disk first. */
const idleTimeoutMs = 5 * 60_000;

/** Opens one connection for each call, so that an image delays nothing else. Calls reject as `dialNode` does. */
export function createRemoteImages(options: {
  address: NodeAddress;
  credentials: Credentials;
  installation: string;
}): RemoteImages {
  const { address, credentials, installation } = options;
  const open = async (request: Omit<ImageRequest, 'installation'>) => {
    const opening = { use: 'image', installation, ...request } as const;
    const { socket, answer } = await dialNode(address, { credentials, opening });
    socket.setTimeout(idleTimeoutMs, () => socket.destroy(new Error('no byte moved for 5 minutes')));
    return { socket, answer };
  };
  return {
    find: async (digest) => {
      const { socket, answer } = await open({ way: 'find', digest, sizeBytes: 0 });
      socket.destroy();
      return answer.found === true;
    },
    read: async (digest) => {
      const { socket, answer } = await open({ way: 'read', digest, sizeBytes: 0 });
      const { sizeBytes = 0 } = answer;
      const body = Readable.from(take(socket, sizeBytes), { objectMode: false });
      body.once('close', () => socket.destroy());
      return { sizeBytes, body };
    },
    write: async (image, body) => {
      const { socket, answer } = await open({ way: 'write', ...image });
      try {
        if (answer.found !== true) await send(body, socket);
      } catch (error) {
        throw error instanceof RuntimeError
          ? error
          : new RuntimeError('unavailable', `node "${address.name}" did not take the image`, {
              cause: error,
            });
      } finally {
        socket.destroy();
      }
    },
  };
}

/** Sends an image and waits until the other side has it; it may refuse the image before its end. */
async function send(body: Readable, socket: TLSSocket): Promise<void> {
  const sent = pipeline(body, socket, { end: false });
  const answered = readAnswer(socket);
  // The first rejection is thrown below; this marks the second one, which has the same cause, as handled.
  for (const end of [sent, answered]) end.catch(() => undefined);
  await Promise.race([sent, answered]);
  await answered;
}

const readAnswer = async (socket: TLSSocket): Promise<void> => {
  parseAnswer(await readLine(socket, { timeoutMs: 2 ** 31 - 1 }));
};
