import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { ImageError } from '../image-error.ts';
import { emptyConfig, type ImageConfig, parseImageConfig } from '../oci/image-config.ts';
import {
  type BlobReference,
  type LayerDescriptor,
  listLayout,
  parseImageManifest,
} from '../oci/image-manifest.ts';
import type { Verification } from '../oci/unpack.ts';
import { type ArchiveEntry, chooseImage } from './choose-image.ts';
import { type ArchiveContent, type ArchivedFile, readCompression } from './unpack-archive.ts';

/** A layer in the archive; the digest is checked when it is unpacked. */
export interface ArchivedLayer {
  path: string;
  descriptor: LayerDescriptor;
  verifies: Verification;
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
 * Finds the image for this machine in an OCI image layout or in what `docker save` writes: the one with the name or the digest `wanted`,
 * without which it must be the only one. Rejects with `corrupt` for another content, `registry_refused` when it has no image for this machine,
 * and as `chooseImage`.
 */
export async function findImage(content: ArchiveContent, wanted?: string): Promise<ArchivedImage> {
  const index = content.find('index.json');
  if (index !== undefined) return readLayout(content, index, wanted);
  const manifest = content.find('manifest.json');
  if (manifest !== undefined) return readDockerArchive(content, manifest, wanted);
  throw new ImageError('corrupt', 'the archive is neither an OCI image layout nor one of "docker save"');
}

async function readLayout(
  content: ArchiveContent,
  index: ArchivedFile,
  wanted: string | undefined,
): Promise<ArchivedImage> {
  let document = await readJson(index, 'index.json');
  for (let depth = 0; depth < MAX_DEPTH && isIndex(document); depth += 1) {
    const entries = listLayout(document).map(
      ({ names, blob }): ArchiveEntry<BlobReference> => ({ names, digest: blob.digest, image: blob }),
    );
    // Only the first index has names.
    const picked = chooseImage(entries, depth === 0 ? wanted : undefined);
    document = parseJson(await readBlob(content, picked), picked.digest);
  }
  const image = parseImageManifest(document);
  if (image.kind !== 'image') throw new ImageError('corrupt', 'the indexes are nested too deeply');
  const layers = image.layers.map(
    (descriptor): ArchivedLayer => ({
      path: findBlob(content, descriptor).path,
      descriptor,
      verifies: 'blob',
    }),
  );
  const { config } = image;
  return {
    layers,
    config: config === undefined ? emptyConfig() : parseImageConfig(await readBlob(content, config)),
  };
}

async function readDockerArchive(
  content: ArchiveContent,
  manifest: ArchivedFile,
  wanted: string | undefined,
): Promise<ArchivedImage> {
  const images = await readJson(manifest, 'manifest.json');
  if (!Array.isArray(images) || images.length === 0) throw malformed('manifest.json lists no image');
  const { configName, names } = chooseImage(images.map(toEntry), wanted);
  if (!isTexts(names)) throw malformed('manifest.json names no layers');
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

/** One image of `docker save`, whose digest is that of its config, as in the name of that. */
const toEntry = (image: unknown): ArchiveEntry<{ configName: string; names: unknown }> => {
  const { Config: configName, Layers: names, RepoTags: tags } = (image ?? {}) as Record<string, unknown>;
  if (typeof configName !== 'string') throw malformed('manifest.json names no config');
  const digest = `sha256:${posix.basename(configName, '.json')}`;
  return { names: isTexts(tags) ? tags : [], digest, image: { configName, names } };
};

const malformed = (reason: string): ImageError =>
  new ImageError('corrupt', `the archive is malformed: ${reason}`);

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
