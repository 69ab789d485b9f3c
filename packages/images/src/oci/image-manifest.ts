import { arch } from 'node:os';
import { ImageError } from '../image-error.ts';
import type { Compression } from './decoder.ts';
import { digestPattern } from './reference.ts';

export interface LayerDescriptor extends BlobReference {
  compression: Compression;
}

/** A blob that a manifest names. */
export interface BlobReference {
  digest: string;
  sizeBytes: number;
}

export type ManifestContent =
  | { kind: 'index'; manifestDigest: string }
  | { kind: 'image'; layers: LayerDescriptor[]; config: BlobReference | undefined };

const maxLayers = 128;

/**
 * The layer types of the OCI image specification and of Docker's manifest v2.2. Foreign layers are hosted elsewhere and
 * rejected.
 */
const layerCompressions = new Map<unknown, LayerDescriptor['compression']>([
  ['application/vnd.oci.image.layer.v1.tar', 'none'],
  ['application/vnd.oci.image.layer.v1.tar+gzip', 'gzip'],
  ['application/vnd.oci.image.layer.v1.tar+zstd', 'zstd'],
  ['application/vnd.docker.image.rootfs.diff.tar', 'none'],
  ['application/vnd.docker.image.rootfs.diff.tar.gzip', 'gzip'],
  ['application/vnd.docker.image.rootfs.diff.tar.zstd', 'zstd'],
]);

/**
 * Parses a manifest of a registry. Selects from an index the Linux image for `architecture` (Node's name; this host's
 * by default). Throws `corrupt` for an invalid format and `registry_refused` when there is no build for this machine.
 */
export function parseImageManifest(document: unknown, { architecture = arch() } = {}): ManifestContent {
  if (!isRecord(document)) throw malformed('it is not an object');
  if (Array.isArray(document.manifests))
    return { kind: 'index', manifestDigest: pickPlatform(document.manifests, architecture) };
  if (!Array.isArray(document.layers)) throw malformed('it lists neither images nor layers');
  if (document.layers.length > maxLayers)
    throw new ImageError('too_large', `the image has more than ${maxLayers} layers`);
  const { config } = document;
  return {
    kind: 'image',
    layers: document.layers.map(parseLayer),
    config: config === undefined ? undefined : parseBlob(config, 'the config'),
  };
}

/**
 * The images for `architecture` of an index of an image layout, where one needs no platform. Throws `corrupt` for an invalid format and
 * `registry_refused` when there is none for this machine.
 */
export function listLayout(
  document: unknown,
  { architecture = arch() } = {},
): { names: string[]; blob: BlobReference }[] {
  if (!isRecord(document) || !Array.isArray(document.manifests)) throw malformed('it lists no images');
  const wanted = toArchitecture(architecture);
  const found = document.manifests.filter((entry) => {
    if (!isRecord(entry)) throw malformed('an image is not an object');
    if (!isRecord(entry.platform)) return true;
    return entry.platform.os === 'linux' && entry.platform.architecture === wanted;
  });
  if (found.length === 0) throw noBuild(wanted);
  return found.map((entry) => ({ names: readNames(entry), blob: parseBlob(entry, 'an image') }));
}

/** The names of an image in a layout: of containerd and Docker, and of skopeo and podman, which may be a tag alone. */
function readNames(entry: unknown): string[] {
  const annotations = isRecord(entry) && isRecord(entry.annotations) ? entry.annotations : {};
  const name = annotations['io.containerd.image.name'] ?? annotations['org.opencontainers.image.ref.name'];
  return typeof name === 'string' ? [name] : [];
}

/** The name that images have for an architecture of Node. */
export const toArchitecture = (architecture: string): string =>
  ({ x64: 'amd64', arm64: 'arm64' })[architecture] ?? architecture;

const noBuild = (wanted: string): ImageError =>
  new ImageError('registry_refused', `the image has no build for linux/${wanted}`);

function pickPlatform(manifests: unknown[], architecture: string): string {
  const wanted = toArchitecture(architecture);
  for (const entry of manifests) {
    if (!isRecord(entry) || !isRecord(entry.platform)) continue;
    const { os, architecture: found } = entry.platform;
    if (os === 'linux' && found === wanted) return parseDigest(entry.digest);
  }
  throw noBuild(wanted);
}

function parseLayer(layer: unknown): LayerDescriptor {
  if (!isRecord(layer)) throw malformed('a layer is not an object');
  const { mediaType } = layer;
  const compression = layerCompressions.get(mediaType);
  if (compression === undefined)
    throw malformed(`layers of type ${JSON.stringify(mediaType)} are not supported`);
  return { ...parseBlob(layer, 'a layer'), compression };
}

function parseBlob(blob: unknown, what: string): BlobReference {
  if (!isRecord(blob)) throw malformed(`${what} is not an object`);
  const { size } = blob;
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw malformed(`${what} has no size`);
  return { digest: parseDigest(blob.digest), sizeBytes: size };
}

function parseDigest(digest: unknown): string {
  if (typeof digest === 'string' && digestPattern.test(digest)) return digest;
  throw malformed('a digest must be sha256: and 64 hex digits');
}

function malformed(reason: string): ImageError {
  return new ImageError('corrupt', `the manifest is malformed: ${reason}`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
