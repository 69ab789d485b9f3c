import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ImageError } from '../image-error.ts';
import type { ImageConfig } from '../oci/image-config.ts';
import { type BlobReference, toArchitecture } from '../oci/image-manifest.ts';
import { findProgram, runProgram } from '../run-program.ts';

/** The media types of the OCI image specification. */
const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
};

/** A name for what is in the layout. */
export interface ImageName {
  name: string;
  tag: string;
}

/** What an image may take that is loaded. */
const MAX_BYTES = 16 * 2 ** 30;

/** Mounts the image file in namespaces of its own: the mount ends with the program. */
const mountScript = 'mount -t ext4 -o ro,loop,nodev,nosuid,noexec "$1" "$2"';

/** Prints the bytes of all files as an archive has them, which stores holes as zeros. */
const measureScript = `${mountScript} && exec du --summarize --bytes "$2/rootfs"`;

/** Writes the tree as a tar archive, with the attributes that a layer may set. */
const archiveScript = `${mountScript} &&
exec tar --create --file "$3" --directory "$2/rootfs" --format=pax --sort=name --numeric-owner --no-acls \
  --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime \
  --xattrs '--xattrs-include=user.*' --xattrs-include=security.capability .`;

/** How the processes of an image run; empty strings name nothing. */
export type SavedConfig = Pick<ImageConfig, 'env' | 'user' | 'workdir'>;

export interface SaveOptions {
  /** The path of an image file. */
  image: string;
  folder: string;
  config: SavedConfig;
  as: ImageName;
  /** Throws where the host has no room for that. */
  requireRoom: (sizeBytes: number) => void;
  signal?: AbortSignal | undefined;
}

/**
 * Writes an image file as an OCI image layout of one layer into `folder`, which is made: owners, modes, links, times and
 * attributes are those of the file. Equal files make equal layouts. Rejects with ImageError, `too_large` where the files have more bytes
 * than an image may that is loaded, or the reason of `signal`, and leaves nothing then. Needs root.
 */
export async function saveImage(options: SaveOptions): Promise<void> {
  const { folder, as, signal } = options;
  const { env, user, workdir } = options.config;
  await mkdir(join(folder, 'blobs/sha256'), { recursive: true, mode: 0o700 });
  try {
    const layer = await writeLayer(options);
    const config = await writeBlob(folder, {
      architecture: toArchitecture(arch()),
      os: 'linux',
      config: {
        Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
        ...(user !== '' && { User: user }),
        ...(workdir !== '' && { WorkingDir: workdir }),
      },
      rootfs: { type: 'layers', diff_ids: [layer.digest] },
    });
    const manifest = await writeBlob(folder, {
      schemaVersion: 2,
      mediaType: types.manifest,
      config: { mediaType: types.config, ...toDescriptor(config) },
      layers: [{ mediaType: types.layer, ...toDescriptor(layer) }],
    });
    const annotations = {
      // Read by containerd and Docker, and by skopeo and podman.
      'io.containerd.image.name': `docker.io/library/${as.name}:${as.tag}`,
      'org.opencontainers.image.ref.name': as.tag,
    };
    const platform = { architecture: toArchitecture(arch()), os: 'linux' };
    const described = { mediaType: types.manifest, ...toDescriptor(manifest), platform, annotations };
    const index = { schemaVersion: 2, mediaType: types.index, manifests: [described] };
    await writeFile(join(folder, 'index.json'), JSON.stringify(index));
    await writeFile(join(folder, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    signal?.throwIfAborted();
    throw error;
  }
}

const toDescriptor = ({ digest, sizeBytes }: BlobReference) => ({ digest, size: sizeBytes });

async function writeLayer({ image, folder, requireRoom, signal }: SaveOptions): Promise<BlobReference> {
  const scratch = await mkdtemp(join(folder, 'scratch-'));
  const [target, file] = [join(scratch, 'mount'), join(scratch, 'layer')];
  await mkdir(target);
  findProgram('tar');
  const run = (script: string, onLine?: (line: string) => void): Promise<void> =>
    runProgram({
      file: '/bin/sh',
      args: ['-c', script, 'sh', image, target, file],
      signal,
      ...(onLine && { onLine }),
    });
  let treeBytes = 0;
  await run(measureScript, (line) => {
    treeBytes = Number.parseInt(line, 10);
  });
  if (!(treeBytes <= MAX_BYTES))
    throw new ImageError('too_large', `the files have ${treeBytes} bytes, and an image at most ${MAX_BYTES}`);
  requireRoom(treeBytes);
  await run(archiveScript);
  const hash = createHash('sha256');
  await pipeline(createReadStream(file, { highWaterMark: 1 << 20 }), hash, signal ? { signal } : {});
  const digest = `sha256:${hash.digest('hex')}`;
  const { size: sizeBytes } = await stat(file);
  await rename(file, toBlobPath(folder, digest));
  await rm(scratch, { recursive: true });
  return { digest, sizeBytes };
}

async function writeBlob(folder: string, document: object): Promise<BlobReference> {
  const bytes = Buffer.from(JSON.stringify(document));
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  await writeFile(toBlobPath(folder, digest), bytes);
  return { digest, sizeBytes: bytes.length };
}

function toBlobPath(folder: string, digest: string): string {
  const [algorithm, hex] = digest.split(':');
  if (algorithm !== 'sha256' || hex === undefined)
    throw new ImageError('corrupt', `${digest} is no digest of SHA-256`);
  return join(folder, 'blobs/sha256', hex);
}
