import { ImageError } from '../image-error.ts';
import type { OnProgress } from '../progress.ts';
import { fetchAhead } from './fetch-ahead.ts';
import { emptyConfig, type ImageConfig, parseImageConfig } from './image-config.ts';
import { type LayerDescriptor, parseImageManifest } from './image-manifest.ts';
import type { KeptLayers } from './kept-layers.ts';
import type { LayerSink } from './layer-sink.ts';
import type { Reach } from './reach.ts';
import { parseReference } from './reference.ts';
import { createRegistry, type Registry } from './registry.ts';
import type { RegistryCredentials } from './registry-auth.ts';

interface PullOptions {
  reference: string;
  credentials?: RegistryCredentials | undefined;
  /** Where the image is unpacked. */
  tree: LayerSink;
  onProgress: OnProgress;
  answerTimeoutMs?: number;
  /** The wait after the first temporary failure in a row. Default 500 ms. */
  retryMs?: number | undefined;
  /** Sends every request. By default to any host. */
  reach?: Reach | undefined;
  /** Layers that earlier pulls have kept, which are not requested, and where those of this one are kept. The caller finishes them. */
  keptLayers?: KeptLayers | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Pulls an image for this machine from a registry and unpacks it into `tree`, layer by layer as the bytes arrive, while those
 * that follow are received. Resolves with the digest of the unpacked manifest and the config of the image. Rejects with ImageError
 * or the reason of `signal`; the tree cannot be used then.
 */
export async function pullImage(
  options: PullOptions,
): Promise<{ manifestDigest: string; config: ImageConfig }> {
  for (;;) {
    try {
      return await pullOnce(options);
    } catch (error) {
      // At most once for each layer: its file has been removed.
      if (!(error instanceof DamagedLayerError)) throw error;
      options.onProgress({ phase: 'pull', message: error.message, fraction: 0 });
    }
  }
}

/** A layer that was kept is not what its digest says. It has been removed. */
class DamagedLayerError extends Error {
  constructor(digest: string, options: { cause: unknown }) {
    super(`the layer ${digest} was damaged on the disk of the server, and is requested again`, options);
    this.name = 'DamagedLayerError';
  }
}

async function pullOnce(options: PullOptions): Promise<{ manifestDigest: string; config: ImageConfig }> {
  const { tree, keptLayers, onProgress, credentials, answerTimeoutMs, retryMs } = options;
  const reference = parseReference(options.reference);
  onProgress({ phase: 'pull', message: `requesting ${options.reference}`, fraction: 0 });
  // Ends the requests for layers that a failure leaves unread.
  const ending = new AbortController();
  const signal = options.signal ? AbortSignal.any([options.signal, ending.signal]) : ending.signal;
  const registry = createRegistry({
    reference,
    credentials,
    signal,
    reach: options.reach,
    retryMs,
    ...(answerTimeoutMs === undefined ? {} : { answerTimeoutMs }),
  });
  const { layers, manifestDigest, config } = await fetchParts(registry, reference.version);
  const totalBytes = layers.reduce((sum, layer) => sum + layer.sizeBytes, 0);
  let receivedBytes = 0;
  let shownBytes = 0;
  const toFraction = (): number => (totalBytes === 0 ? 0 : receivedBytes / totalBytes) * 0.8;
  await tree.begin();
  const source = keptLayers?.before(registry, { origin: reference.baseUrl, signal }) ?? withoutKept(registry);
  try {
    let count = 0;
    for await (const { descriptor, blob } of fetchAhead(source, layers)) {
      count += 1;
      const size = toMebibytes(descriptor.sizeBytes);
      const what = `layer ${count} of ${layers.length}, ${size}`;
      const message = source.isKept(blob)
        ? `unpacking ${what}, which an earlier pull has kept`
        : `pulling ${what} (${toMebibytes(receivedBytes)} of ${toMebibytes(totalBytes)} received)`;
      onProgress({ phase: 'pull', message, fraction: toFraction() });
      const onBytes = (byteCount: number): void => {
        receivedBytes += byteCount;
        if (receivedBytes - shownBytes < totalBytes / 50) return;
        shownBytes = receivedBytes;
        onProgress({ phase: 'pull', message, fraction: toFraction() });
      };
      await tree.addLayer({ descriptor, blob, onBytes }).catch(async (cause: unknown) => {
        signal.throwIfAborted();
        if (source.isKept(blob) && (await keptLayers?.removeIfDamaged(descriptor)))
          throw new DamagedLayerError(descriptor.digest, { cause });
        throw cause;
      });
      source.keep(blob);
    }
  } finally {
    ending.abort();
    source.end();
  }
  await tree.endLayers();
  return { manifestDigest, config };
}

const withoutKept = (registry: Registry): ReturnType<KeptLayers['before']> => ({
  blob: (layer) => registry.blob(layer),
  isKept: () => false,
  keep: () => undefined,
  end: () => undefined,
});

const toMebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/**
 * The digest of the manifest that `pullImage` would unpack now. Rejects with ImageError or the reason of `signal`. Sends
 * the credentials that a pull would send: an image that they do not open is not found.
 */
export async function resolveImage({
  reference: text,
  ...options
}: {
  reference: string;
  credentials?: RegistryCredentials | undefined;
  reach?: Reach | undefined;
  signal?: AbortSignal | undefined;
}): Promise<string> {
  const reference = parseReference(text);
  return (await fetchManifest(createRegistry({ reference, ...options }), reference.version)).digest;
}

async function fetchManifest(registry: Registry, version: string) {
  const first = await registry.manifest(version);
  const content = parseImageManifest(first.document);
  if (content.kind === 'image') return { image: content, digest: first.digest };
  const manifest = await registry.manifest(content.manifestDigest);
  const image = parseImageManifest(manifest.document);
  if (image.kind !== 'image') throw new ImageError('corrupt', 'the index refers to another index');
  return { image, digest: manifest.digest };
}

async function fetchParts(
  registry: Registry,
  version: string,
): Promise<{ layers: LayerDescriptor[]; manifestDigest: string; config: ImageConfig }> {
  const { image, digest: manifestDigest } = await fetchManifest(registry, version);
  const { layers, config: blob } = image;
  const config = blob === undefined ? emptyConfig() : parseImageConfig(await registry.smallBlob(blob));
  return { layers, manifestDigest, config };
}
