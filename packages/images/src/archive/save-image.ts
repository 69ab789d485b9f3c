import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat, writeFile } from 'node:fs/promises';
import { arch } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { findProgram, runProgram } from '../base/run-program.ts';
import { ImageError } from '../image-error.ts';
import { type BlobReference, toArchitecture } from '../oci/image-manifest.ts';

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

/**
 * Mounts the image file in namespaces of its own and writes its tree as a tar archive: the mount ends with the program. The
 * attributes are those that a layer may set.
 */
const script = `mount -t ext4 -o ro,loop,nodev,nosuid,noexec "$1" "$2" &&
exec tar --create --file "$3" --directory "$2/rootfs" --format=pax --sort=name --numeric-owner --no-acls \
  --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime \
  --xattrs '--xattrs-include=user.*' --xattrs-include=security.capability .`;

/**
 * Writes an image file as an OCI image layout of one layer into `folder`, which is made: owners, modes, links, times and
 * attributes are those of the file. Equal files make equal layouts. Rejects with ImageError or the reason of `signal`, and leaves
 * nothing then. Needs root.
 */
export async function saveImage(options: {
  /** Of an image file. */
  image: string;
  folder: string;
  env: Readonly<Record<string, string>>;
  as: ImageName;
  /** Throws where the host has no room for that. */
  requireRoom: (sizeBytes: number) => void;
  signal?: AbortSignal | undefined;
}): Promise<void> {
  const { image, folder, env, as, requireRoom, signal } = options;
  requireRoom((await stat(image)).blocks * 512);
  await mkdir(join(folder, 'blobs/sha256'), { recursive: true, mode: 0o700 });
  try {
    const layer = await writeLayer(image, folder, signal);
    const config = await writeBlob(folder, {
      architecture: toArchitecture(arch()),
      os: 'linux',
      config: { Env: Object.entries(env).map(([name, value]) => `${name}=${value}`) },
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

async function writeLayer(
  image: string,
  folder: string,
  signal: AbortSignal | undefined,
): Promise<BlobReference> {
  const scratch = await mkdtemp(join(folder, 'scratch-'));
  const [target, file] = [join(scratch, 'mount'), join(scratch, 'layer')];
  await mkdir(target);
  findProgram('tar');
  await runProgram({ file: '/bin/sh', args: ['-c', script, 'sh', image, target, file], signal });
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
