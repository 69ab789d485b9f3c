import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { RuntimeError } from '../../error.ts';
import type { NodeImageFiles } from '../image-door.ts';

export const digestOf = (content: Buffer): string =>
  `sha256:${createHash('sha256').update(content).digest('hex')}`;

/** Images of a node, by digest. */
export const createImagesInMemory = (contents: Map<string, Buffer> = new Map()): NodeImageFiles => ({
  has: async (digest) => contents.has(digest),
  read: async (digest) => {
    const content = contents.get(digest);
    if (content === undefined) return undefined;
    return { sizeBytes: content.length, body: Readable.from([content], { objectMode: false }) };
  },
  write: async ({ digest, sizeBytes }, body) => {
    const content = await buffer(body);
    if (content.length !== sizeBytes || digestOf(content) !== digest)
      throw new RuntimeError('damaged', 'the image has arrived damaged');
    contents.set(digest, content);
  },
});
