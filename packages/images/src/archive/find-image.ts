import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { ImageError } from '../image-error.ts';
import { emptyConfig, type ImageConfig, parseImageConfig } from '../oci/image-config.ts';
import {
  type BlobReference,
  type LayerDescriptor,
  parseImageManifest,
  pickFromLayout,
} from '../oci/image-manifest.ts';
import { type ArchiveContent, type ArchivedFile, readCompression } from './unpack-archive.ts';

/** A layer in the archive; the digest is checked when it is unpacked. */
export interface ArchivedLayer {
  path: string;
  descriptor: LayerDescriptor;
  /** What the digest and the size are of: the file, or what it contains when it is decompressed. */
  verifies: 'file' | 'content';
}

export interface ArchivedImage {
  layers: ArchivedLayer[];
  config: ImageConfig;
}

/** Manifests and configs are read into memory. */
const MAX_DOCUMENT_BYTES = 4 << 20;
/** An index may name an index, as those of `docker buildx` do. */
const MAX_DEPTH = 4;

/**
 * Finds the one image for this machine in an OCI image layout or in what `docker save` writes. Throws `corrupt` for another
 * content, `registry_refused` when it has no image for this machine, and `unsuitable_image` when it has several.
 */
export async function findImage(content: ArchiveContent): Promise<ArchivedImage> {
  const index = content.find('index.json');
  if (index !== undefined) return readLayout(content, index);
  const manifest = content.find('manifest.json');
  if (manifest !== undefined) return readDockerArchive(content, manifest);
  throw new ImageError('corrupt', 'the archive is neither an OCI image layout nor one of "docker save"');
}

async function readLayout(content: ArchiveContent, index: ArchivedFile): Promise<ArchivedImage> {
  let document = await readJson(index, 'index.json');
  for (let depth = 0; depth < MAX_DEPTH && isIndex(document); depth += 1) {
    const picked = pickFromLayout(document);
    document = parseJson(await readBlob(content, picked), picked.digest);
  }
  const image = parseImageManifest(document);
  if (image.kind !== 'image') throw new ImageError('corrupt', 'the indexes are nested too deeply');
  const layers = image.layers.map(
    (descriptor): ArchivedLayer => ({
      path: findBlob(content, descriptor).path,
      descriptor,
      verifies: 'file',
    }),
  );
  const { config } = image;
  return {
    layers,
    config: config === undefined ? emptyConfig() : parseImageConfig(await readBlob(content, config)),
  };
}

async function readDockerArchive(content: ArchiveContent, manifest: ArchivedFile): Promise<ArchivedImage> {
  const images = await readJson(manifest, 'manifest.json');
  if (!Array.isArray(images) || images.length === 0) throw malformed('manifest.json lists no image');
  if (images.length > 1) throw severalImages(images.flatMap(toRepoTags));
  const { Config: configName, Layers: names } = (images[0] ?? {}) as { Config?: unknown; Layers?: unknown };
  if (typeof configName !== 'string' || !isTexts(names)) throw malformed('manifest.json names no layers');
  const config = await readDocument(requireFile(content, configName), configName);
  const digests = readDiffIds(parseJson(config, configName));
  if (digests.length !== names.length) throw malformed('it has another number of layers than its config');
  const layers: ArchivedLayer[] = [];
  for (const [position, name] of names.entries()) {
    const { path, sizeBytes } = requireFile(content, name);
    const compression = await readCompression(path);
    const digest = digests[position] ?? '';
    layers.push({ path, descriptor: { digest, sizeBytes, compression }, verifies: 'content' });
  }
  return { layers, config: parseImageConfig(config) };
}

function readDiffIds(config: unknown): string[] {
  const { rootfs } = (config ?? {}) as { rootfs?: unknown };
  const { diff_ids: digests } = (rootfs ?? {}) as { diff_ids?: unknown };
  if (isTexts(digests) && digests.every((digest) => /^sha256:[0-9a-f]{64}$/.test(digest))) return digests;
  throw malformed('its config has no digests of layers');
}

const isIndex = (document: unknown): boolean =>
  Array.isArray((document as { manifests?: unknown } | null)?.manifests);

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const toRepoTags = (image: unknown): string[] => {
  const tags = (image as { RepoTags?: unknown } | null)?.RepoTags;
  return isTexts(tags) ? tags : [];
};

const malformed = (reason: string): ImageError =>
  new ImageError('corrupt', `the archive is malformed: ${reason}`);

const severalImages = (names: readonly string[]): ImageError =>
  new ImageError(
    'unsuitable_image',
    `the archive has several images${names.length > 0 ? ` (${names.join(', ').slice(0, 500)})` : ''}: save one alone`,
  );

function requireFile(content: ArchiveContent, name: string): ArchivedFile {
  const file = content.find(name);
  if (file) return file;
  throw malformed(`${JSON.stringify(name.slice(0, 200))} is missing`);
}

const findBlob = (content: ArchiveContent, { digest }: BlobReference): ArchivedFile =>
  requireFile(content, `blobs/${digest.replace(':', '/')}`);

async function readBlob(content: ArchiveContent, blob: BlobReference): Promise<Buffer> {
  const bytes = await readDocument(findBlob(content, blob), blob.digest);
  const actual = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (actual === blob.digest) return bytes;
  throw new ImageError('corrupt', `the blob ${blob.digest} has the digest ${actual}`);
}

async function readDocument({ path, sizeBytes }: ArchivedFile, name: string): Promise<Buffer> {
  if (sizeBytes > MAX_DOCUMENT_BYTES) throw new ImageError('too_large', `${name} has more than 4 MiB`);
  return readFile(path);
}

const readJson = async (file: ArchivedFile, name: string): Promise<unknown> =>
  parseJson(await readDocument(file, name), name);

function parseJson(bytes: Buffer, name: string): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new ImageError('corrupt', `${name} is no JSON`, { cause });
  }
}
