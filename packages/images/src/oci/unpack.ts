import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SparseFormError } from '@skerry/contract/sparse-file';
import { ImageError } from '../image-error.ts';
import type { RequireRoom } from '../room.ts';
import { toDecoder } from './decoder.ts';
import type { LayerDescriptor } from './image-manifest.ts';
import { setAttributes } from './layer/attributes.ts';
import { createLayer } from './layer/layer.ts';
import type { StrangeOwners } from './layer/owners.ts';
import { parseEntry, type TarEntry } from './layer/tar-entry.ts';
import { createLayerParser } from './layer/workarounds/layer-parser.ts';
import { createVerifier } from './verified-blob.ts';

/** What is left of what an image may take, over all of its layers. */
export interface UnpackBudget {
  sizeBytes: number;
  /** What the layers are when they are decompressed, to their last byte. */
  archiveBytes: number;
  entryCount: number;
  /** The length of all names, which stay in memory until their layer is unpacked, and of those of the folders above them. */
  nameBytes: number;
  /** The length of all attributes, which stay in memory as well. */
  attributeBytes: number;
}

/** What the digest of a layer is of: the blob, whose size is checked, too, or what it contains. Nothing: it was verified. */
export type Verification = 'blob' | 'content' | 'nothing';

/** All that an image may take. */
export const createImageBudget = (): UnpackBudget => ({
  sizeBytes: 16 * 2 ** 30,
  // Headers and padding come on top.
  archiveBytes: 18 * 2 ** 30,
  entryCount: 1_000_000,
  nameBytes: 256 * 2 ** 20,
  attributeBytes: 64 * 2 ** 20,
});

/**
 * Unpacks one layer over the tree under `root`, as its bytes arrive: nothing is kept in memory or beside the tree.
 * Takes from `budget`. Rejects with `corrupt`, `unsafe`, `too_large` or the reason of `signal`; the tree is worthless
 * then.
 */
export async function unpackLayer(options: {
  root: string;
  blob: Readable;
  descriptor: LayerDescriptor;
  /** Default: the blob. */
  verifies?: Verification;
  budget: UnpackBudget;
  /** Notes files whose owner no sandbox has. All layers share it: a later layer may remove such a file, so the caller refuses the image only after the last layer. */
  owners: Pick<StrangeOwners, 'note'>;
  onBytes?: ((count: number) => void) | undefined;
  /** Called with the size of each entry before it is made. */
  requireRoom?: RequireRoom | undefined;
  signal?: AbortSignal | undefined;
}): Promise<void> {
  const { root, blob, descriptor, verifies = 'blob', budget, owners, onBytes, requireRoom, signal } = options;
  const take = (kind: keyof UnpackBudget, count: number): void => {
    budget[kind] -= count;
    if (budget[kind] < 0) throw new ImageError('too_large', tooLarge[kind]);
  };
  const takeName = (name: string): void => take('nameBytes', Buffer.byteLength(name));
  const layer = createLayer(root, { owners, onPath: takeName });
  const parser = createLayerParser();
  const reading = (async () => {
    for await (const content of parser) {
      const entry = parseEntry(content.header);
      take('entryCount', 1);
      take('sizeBytes', entry.sizeBytes);
      takeName(entry.name);
      if ('target' in entry) takeName(entry.target);
      for (const [name, value] of entry.attributes) take('attributeBytes', name.length + value.length);
      requireRoom?.(entry.sizeBytes);
      // A streamx stream, which its types do not declare as iterable.
      await layer.add(entry, content as unknown as AsyncIterable<Uint8Array>).catch((error: unknown) => {
        throw (error as NodeJS.ErrnoException).code === 'ENAMETOOLONG' ? toLengthError(entry, error) : error;
      });
      content.resume();
    }
  })();
  const { digest, sizeBytes, compression } = descriptor;
  const decoder = [...toDecoder(compression), createMeter((count) => take('archiveBytes', count))];
  const stages = {
    blob: () => [createVerifier({ digest, sizeBytes, onBytes }), ...decoder],
    content: () => [...decoder, createVerifier({ digest, onBytes })],
    nothing: () => decoder,
  }[verifies]();
  const feeding = pipeline([blob, ...stages, parser], signal ? { signal } : {});
  const failures = (await Promise.allSettled([reading, feeding]))
    .filter((result) => result.status === 'rejected')
    .map((result): unknown => result.reason);
  signal?.throwIfAborted();
  // The first to fail destroys the others, whose errors only echo it.
  const cause = failures.find((error) => error instanceof ImageError) ?? failures[0];
  if (cause instanceof ImageError) throw cause;
  if (cause !== undefined) throw toImageError(cause, descriptor.digest);
  await setAttributes({ root, attributes: layer.finish(), signal });
}

const tooLarge: Record<keyof UnpackBudget, string> = {
  sizeBytes: 'the files of the image have more than 16 GiB',
  archiveBytes: 'the layers of the image have more than 18 GiB',
  entryCount: 'the image has more than 1,000,000 entries',
  nameBytes: 'the names of the image have more than 256 MiB',
  attributeBytes: 'the attributes of the image have more than 64 MiB',
};

/** Passes bytes on, and fails with what `onBytes` throws for their number. */
const createMeter = (onBytes: (count: number) => void): Transform =>
  new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        onBytes(chunk.length);
        done(null, chunk);
      } catch (error) {
        done(error as Error);
      }
    },
  });

/** The kernel's own limits, with the folder of the tree: path_resolution(7). */
function toLengthError(entry: TarEntry, cause: unknown): ImageError {
  const lengthOf = (path: string): string => `${Buffer.byteLength(path)} bytes`;
  const target = 'target' in entry ? ` and a target of ${lengthOf(entry.target)}` : '';
  return new ImageError(
    'corrupt',
    `a layer has an entry with too long a path, of ${lengthOf(entry.name)}${target}: ${JSON.stringify(entry.name.slice(0, 200))}; a name may have 255 bytes, and a path about 4,000`,
    { cause },
  );
}

function toImageError(cause: unknown, digest: string): ImageError {
  if (cause instanceof SparseFormError) return new ImageError('corrupt', cause.message, { cause });
  // What Node throws for a string or a buffer that memory cannot hold.
  if (cause instanceof RangeError)
    return new ImageError('too_large', `the layer ${digest} takes too much memory`, { cause });
  const { code, message } = cause as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new ImageError('build_failed', 'the disk is full', { cause });
  // The message of an error of the file system names folders of this host.
  return new ImageError('corrupt', `the layer ${digest} cannot be unpacked: ${code ?? message}`, { cause });
}
