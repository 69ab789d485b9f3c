import { type Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RuntimeError } from '../error.ts';
import { formatAnswer } from '../line-protocol.ts';
import type { ImageRequest } from './opening.ts';

/** The images of the templates of a node, by digest. */
export interface NodeImageFiles {
  has(digest: string): Promise<boolean>;
  /** Undefined when there is none. The body must be read or destroyed. */
  read(digest: string): Promise<{ sizeBytes: number; body: Readable } | undefined>;
  /** Resolves when the image is durable; rejects when the body is not that image, and leaves nothing then. */
  write(image: { digest: string; sizeBytes: number }, body: Readable): Promise<void>;
}

/**
 * Answers a request for an image on a connection of a server, and ends the connection. Rejects before the first byte of the image, with
 * `not_found` when there is none to read, and with what the write of one fails with.
 */
export async function openImageDoor(
  images: NodeImageFiles,
  { way, digest, sizeBytes }: ImageRequest,
  socket: Duplex,
): Promise<void> {
  if (way === 'read') {
    const found = await images.read(digest);
    if (found === undefined) throw new RuntimeError('not_found', `this node has no image ${digest}`);
    socket.write(formatAnswer({ sizeBytes: found.sizeBytes }));
    // The other side counts the bytes: what fails on the way breaks the connection, and both are closed then.
    await pipeline(found.body, socket).catch(() => undefined);
    return;
  }
  const isThere = await images.has(digest);
  if (way === 'find' || isThere) {
    socket.end(formatAnswer({ found: isThere }));
    return;
  }
  socket.write(formatAnswer({ found: false }));
  const body = Readable.from(take(socket, sizeBytes), { objectMode: false });
  await images.write({ digest, sizeBytes }, body);
  socket.end(formatAnswer());
}

/** So many bytes of a connection, which stays open after them. */
export async function* take(socket: Duplex, sizeBytes: number): AsyncGenerator<Buffer> {
  let left = sizeBytes;
  if (left === 0) return;
  for await (const chunk of socket.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    left -= chunk.length;
    if (left < 0) throw new RuntimeError('refused', 'more bytes came than were announced');
    yield chunk;
    if (left === 0) return;
  }
  throw new RuntimeError('unavailable', 'the connection ended in the middle of an image');
}
