import type { Readable } from 'node:stream';
import type { BlobReference } from './image-manifest.ts';
import type { Registry } from './registry.ts';

/** How many blobs are requested at a time. */
const PARALLEL = 3;

/**
 * The blobs in their order, for a reader that reads each to its end before it asks for the next. Those that come next are received
 * meanwhile, each until the buffer of its stream is full. Rejects as `Registry.blob` when the turn of a blob has come; the
 * signal of the registry must end the other requests then.
 */
export async function* fetchAhead<T extends BlobReference>(
  registry: Pick<Registry, 'blob'>,
  blobs: readonly T[],
): AsyncGenerator<{ descriptor: T; blob: Readable }> {
  const begin = async (descriptor: T) => {
    const blob = await registry.blob(descriptor);
    // Reported when the stream is read: until then an error must not end the process.
    blob.on('error', () => undefined);
    blob.read(0); // Begins to fill its buffer.
    return { descriptor, blob };
  };
  const ahead: ReturnType<typeof begin>[] = [];
  let next = 0;
  for (;;) {
    for (const blob of blobs.slice(next, next + PARALLEL - ahead.length)) {
      const begun = begin(blob);
      begun.catch(() => undefined);
      ahead.push(begun);
      next += 1;
    }
    const first = ahead.shift();
    if (first === undefined) return;
    yield await first;
  }
}
