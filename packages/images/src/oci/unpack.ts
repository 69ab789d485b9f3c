import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SparseFormError } from '@skerry/contract/sparse-file';
import { ImageError } from '../image-error.ts';
import { toDecoder } from './decoder.ts';
import type { LayerDescriptor } from './image-manifest.ts';
import { setAttributes } from './layer/attributes.ts';
import { createLayer } from './layer/layer.ts';
import type { StrangeOwners } from './layer/owners.ts';
import { parseEntry } from './layer/tar-entry.ts';
import { createLayerParser } from './layer/workarounds/layer-parser.ts';
import { createVerifier } from './verified-blob.ts';

/** What is left of what an image may take, over all of its layers. */
export interface UnpackBudget {
  sizeBytes: number;
  entryCount: number;
  /** The length of all attributes, which stay in memory until their layer is unpacked. */
  attributeBytes: number;
}

/** All that an image may take. */
export const createImageBudget = (): UnpackBudget => ({
  sizeBytes: 16 * 2 ** 30,
  entryCount: 1_000_000,
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
  /** What the digest is of: the blob, or what it contains when it is decompressed. Default: the blob, and its size is checked, too. */
  verifies?: 'file' | 'content';
  budget: UnpackBudget;
  /** Notes files whose owner no sandbox has. All layers share it: a later layer may remove such a file, so the caller refuses the image only after the last layer. */
  owners: Pick<StrangeOwners, 'note'>;
  onBytes?: (count: number) => void;
  /** Called with the size of each entry before it is made; throws where the host has no room for it. */
  requireRoom?: ((sizeBytes: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}): Promise<void> {
  const { root, blob, descriptor, verifies = 'file', budget, owners, onBytes, requireRoom, signal } = options;
  const layer = createLayer(root, { owners });
  const parser = createLayerParser();
  const reading = (async () => {
    for await (const content of parser) {
      const entry = parseEntry(content.header);
      budget.entryCount -= 1;
      budget.sizeBytes -= entry.sizeBytes;
      for (const [name, value] of entry.attributes) budget.attributeBytes -= name.length + value.length;
      if (budget.entryCount < 0 || budget.sizeBytes < 0 || budget.attributeBytes < 0)
        throw new ImageError('too_large', 'the image is larger than an image may be');
      requireRoom?.(entry.sizeBytes);
      // A streamx stream, which its types do not declare as iterable.
      await layer.add(entry, content as unknown as AsyncIterable<Uint8Array>);
      content.resume();
    }
  })();
  const { digest, sizeBytes, compression } = descriptor;
  const expected = verifies === 'file' ? { digest, sizeBytes } : { digest };
  const verifier = createVerifier({ ...expected, ...(onBytes ? { onBytes } : {}) });
  const decoder = toDecoder(compression);
  const stages = verifies === 'file' ? [verifier, ...decoder] : [...decoder, verifier];
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

function toImageError(cause: unknown, digest: string): ImageError {
  if (cause instanceof SparseFormError) return new ImageError('corrupt', cause.message, { cause });
  const isFull = ['ENOSPC', 'EDQUOT'].includes((cause as NodeJS.ErrnoException).code ?? '');
  return isFull
    ? new ImageError('build_failed', 'the disk is full', { cause })
    : new ImageError('corrupt', `the layer ${digest} cannot be unpacked`, { cause });
}
