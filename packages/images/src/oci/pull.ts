import { mkdirSync } from 'node:fs';
import type { OnProgress } from '../base/progress.ts';
import { ImageError } from '../image-error.ts';
import { type LayerDescriptor, parseImageManifest } from './image-manifest.ts';
import { parseReference } from './reference.ts';
import { createRegistry, type Registry } from './registry.ts';
import type { RegistryCredentials } from './registry-auth.ts';
import { type UnpackBudget, unpackLayer } from './unpack.ts';

const defaultBudget: UnpackBudget = { sizeBytes: 16 * 2 ** 30, entryCount: 1_000_000 };

/**
 * Pulls an image for this machine from a registry and unpacks it into `rootfs`, which must not exist, layer by layer as the
 * bytes arrive. Resolves with the digest of the manifest that was unpacked. Rejects with ImageError or the reason of `signal`;
 * what is in `rootfs` then is worthless.
 */
export async function pullImage(options: {
  reference: string;
  credentials?: RegistryCredentials | undefined;
  rootfs: string;
  onProgress: OnProgress;
  budget?: UnpackBudget;
  answerTimeoutMs?: number;
  signal?: AbortSignal | undefined;
}): Promise<{ manifestDigest: string }> {
  const { rootfs, onProgress, signal, credentials, answerTimeoutMs } = options;
  const reference = parseReference(options.reference);
  onProgress({ phase: 'pull', message: `asking for ${options.reference}`, fraction: 0 });
  const registry = createRegistry({
    reference,
    credentials,
    signal,
    ...(answerTimeoutMs === undefined ? {} : { answerTimeoutMs }),
  });
  const { layers, manifestDigest } = await fetchLayerList(registry, reference.version);
  const totalBytes = layers.reduce((sum, layer) => sum + layer.sizeBytes, 0);
  const budget = { ...(options.budget ?? defaultBudget) };
  let receivedBytes = 0;
  let shownBytes = 0;
  mkdirSync(rootfs);
  for (const [index, descriptor] of layers.entries()) {
    const message = `pulling layer ${index + 1} of ${layers.length}`;
    await unpackLayer({
      root: rootfs,
      blob: await registry.blob(descriptor.digest),
      descriptor,
      budget,
      onBytes: (count) => {
        receivedBytes += count;
        if (receivedBytes - shownBytes < totalBytes / 50) return;
        shownBytes = receivedBytes;
        onProgress({ phase: 'pull', message, fraction: (receivedBytes / totalBytes) * 0.8 });
      },
      signal,
    });
  }
  return { manifestDigest };
}

async function fetchLayerList(
  registry: Registry,
  version: string,
): Promise<{ layers: LayerDescriptor[]; manifestDigest: string }> {
  const first = await registry.manifest(version);
  const content = parseImageManifest(first.document);
  if (content.kind === 'image') return { layers: content.layers, manifestDigest: first.digest };
  const second = await registry.manifest(content.manifestDigest);
  const image = parseImageManifest(second.document);
  if (image.kind === 'image') return { layers: image.layers, manifestDigest: second.digest };
  throw new ImageError('corrupt', 'the index leads to another index');
}
