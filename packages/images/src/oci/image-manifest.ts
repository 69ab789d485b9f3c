import { arch } from 'node:os';
import { ImageError } from '../image-error.ts';
import { digestPattern } from './reference.ts';

export interface LayerDescriptor {
  digest: string;
  sizeBytes: number;
  compression: 'none' | 'gzip' | 'zstd';
}

export type ManifestContent =
  | { kind: 'index'; manifestDigest: string }
  | { kind: 'image'; layers: LayerDescriptor[] };

const maxLayers = 128;

/** The layer types of the OCI image specification and of Docker's manifest v2.2. Foreign layers are hosted elsewhere: refused. */
const layerCompressions = new Map<unknown, LayerDescriptor['compression']>([
  ['application/vnd.oci.image.layer.v1.tar', 'none'],
  ['application/vnd.oci.image.layer.v1.tar+gzip', 'gzip'],
  ['application/vnd.oci.image.layer.v1.tar+zstd', 'zstd'],
  ['application/vnd.docker.image.rootfs.diff.tar', 'none'],
  ['application/vnd.docker.image.rootfs.diff.tar.gzip', 'gzip'],
  ['application/vnd.docker.image.rootfs.diff.tar.zstd', 'zstd'],
]);

/**
 * Reads a manifest of a registry. Of an index it picks the Linux image for `architecture` (Node's name; this host's by
 * default). Throws `corrupt` for what breaks the format and `registry_refused` when there is no build for this machine.
 */
export function parseImageManifest(document: unknown, { architecture = arch() } = {}): ManifestContent {
  if (!isRecord(document)) throw malformed('it is no object');
  if (Array.isArray(document.manifests))
    return { kind: 'index', manifestDigest: pickPlatform(document.manifests, architecture) };
  if (!Array.isArray(document.layers)) throw malformed('it lists neither images nor layers');
  if (document.layers.length > maxLayers)
    throw new ImageError('too_large', `the image has more than ${maxLayers} layers`);
  return { kind: 'image', layers: document.layers.map(parseLayer) };
}

function pickPlatform(manifests: unknown[], architecture: string): string {
  const wanted = { x64: 'amd64', arm64: 'arm64' }[architecture] ?? architecture;
  for (const entry of manifests) {
    if (!isRecord(entry) || !isRecord(entry.platform)) continue;
    const { os, architecture: found } = entry.platform;
    if (os === 'linux' && found === wanted) return parseDigest(entry.digest);
  }
  throw new ImageError('registry_refused', `the image has no build for linux/${wanted}`);
}

function parseLayer(layer: unknown): LayerDescriptor {
  if (!isRecord(layer)) throw malformed('a layer is no object');
  const { mediaType, size } = layer;
  const compression = layerCompressions.get(mediaType);
  if (compression === undefined)
    throw malformed(`layers of type ${JSON.stringify(mediaType)} are not supported`);
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw malformed('a layer has no size');
  return { digest: parseDigest(layer.digest), sizeBytes: size, compression };
}

function parseDigest(digest: unknown): string {
  if (typeof digest === 'string' && digestPattern.test(digest)) return digest;
  throw malformed('a digest is sha256: and 64 hex digits');
}

function malformed(reason: string): ImageError {
  return new ImageError('corrupt', `the manifest is malformed: ${reason}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
