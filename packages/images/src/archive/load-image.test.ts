import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { arch, tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLayerSink } from '../oci/layer-sink.ts';
import { type LayerEntry, makeTar } from '../oci/testing/loopback-registry.ts';
import { loadImage } from './load-image.ts';

let folder: string;
let spareBytes: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-archive-'));
  spareBytes = 2 ** 30;
});
afterEach(() => rmSync(folder, { recursive: true }));

const rootfs = () => join(folder, 'rootfs');
const requireRoom = (sizeBytes: number): void => {
  if (sizeBytes > spareBytes) throw new Error('no room');
};
const load = (bytes: Buffer, { signal, image }: { signal?: AbortSignal; image?: string } = {}) => {
  const archive = join(folder, 'archive');
  writeFileSync(archive, bytes);
  return loadImage({
    archive,
    image,
    scratch: join(folder, 'scratch'),
    tree: createLayerSink(rootfs(), { requireRoom, signal }),
    onProgress: () => undefined,
    requireRoom,
    signal,
  });
};

const toDigest = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const toText = (document: unknown): string => JSON.stringify(document);
const lower = () =>
  makeTar([
    { name: 'etc/' },
    { name: 'etc/old', content: 'old' },
    { name: 'bin/run', content: 'run', mode: 0o4755, uid: 7, gid: 8 },
  ]);
const upper = () =>
  makeTar([
    { name: 'etc/.wh.old', content: '' },
    { name: 'etc/new', content: 'new' },
    { name: 'bin/same', type: 'link', linkname: 'bin/run' },
  ]);
const toConfig = (layers: readonly Buffer[], value = 'b') =>
  toText({ config: { Env: [`A=${value}`] }, rootfs: { diff_ids: layers.map(toDigest) } });

/** Two in one archive of `docker save`, as Docker 25 names their configs. */
const dockerImages = [
  { Config: 'config.json', RepoTags: ['app:v1', 'app:v2'], Layers: ['layer0/layer.tar', 'layer1/layer.tar'] },
  {
    Config: `blobs/sha256/${'5'.repeat(64)}`,
    RepoTags: ['b:latest'],
    Layers: ['layer0/layer.tar', 'layer1/layer.tar'],
  },
];

/** An archive of `docker save` before Docker 25, where equal layers are links. */
const makeDockerArchive = async (
  change: { layers?: Buffer[]; packed?: Buffer[]; more?: LayerEntry[]; images?: object[] } = {},
): Promise<Buffer> => {
  const { layers = [await lower(), await upper()], packed = layers, more = [], images } = change;
  const names = packed.map((_, index) => `layer${index}/layer.tar`);
  return makeTar([
    ...packed.map((bytes, index) => ({ name: `real/${index}.tar`, content: bytes as unknown as string })),
    ...names.map((name, index) => ({
      name,
      type: 'symlink' as const,
      linkname: `../real/${index}.tar`,
    })),
    { name: 'config.json', content: toConfig(layers) },
    { name: `blobs/sha256/${'5'.repeat(64)}`, content: toConfig(layers, 'other') },
    ...more,
    { name: 'manifest.json', content: toText(images ?? [{ Config: 'config.json', Layers: names }]) },
  ]);
};

const machine = { os: 'linux', architecture: { x64: 'amd64' }[arch() as string] ?? arch() };
const types = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
};

/** An OCI image layout; `wrap` puts an index between that of the layout and the image. */
const makeLayout = async (
  change: {
    platform?: object;
    wrap?: boolean;
    count?: number;
    names?: Record<string, string>[];
    damage?: (blobs: Map<string, Buffer>) => void;
  } = {},
): Promise<Buffer> => {
  const { platform, wrap = false, count = 1, names = [], damage } = change;
  const blobs = new Map<string, Buffer>();
  const add = (content: Buffer | string, mediaType: string) => {
    const bytes = Buffer.from(content as string);
    const digest = toDigest(bytes);
    blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.length };
  };
  const layers = [await lower(), await upper()];
  const layer = 'application/vnd.oci.image.layer.v1.tar';
  const [first, second] = layers as [Buffer, Buffer];
  const configs = Array.from({ length: count }, (_, number) =>
    add(toConfig(layers, number === 0 ? 'b' : 'other'), 'application/vnd.oci.image.config.v1+json'),
  );
  const packed = [add(gzipSync(first), `${layer}+gzip`), add(zstdCompressSync(second), `${layer}+zstd`)];
  const images = configs.map((config) => ({
    ...add(toText({ schemaVersion: 2, config, layers: packed }), types.manifest),
    ...(platform && { platform }),
  }));
  const attested = { ...configs[0], platform: { os: 'unknown', architecture: 'unknown' } };
  const described = [attested, ...images.map((image, number) => ({ ...image, annotations: names[number] }))];
  const manifests = wrap ? [add(toText({ manifests: described }), types.index)] : described;
  damage?.(blobs);
  return makeTar([
    { name: './oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
    { name: './index.json', content: toText({ schemaVersion: 2, manifests }) },
    ...[...blobs].map(([digest, bytes]) => ({
      name: `./blobs/${digest.replace(':', '/')}`,
      content: bytes as unknown as string,
    })),
  ]);
};

const expectLoaded = async (bytes: Buffer): Promise<void> => {
  const { config } = await load(bytes);
  expect(config.env).toEqual({ A: 'b' });
  expect(readFileSync(join(rootfs(), 'etc/new'), 'utf8')).toBe('new');
  expect(existsSync(join(rootfs(), 'etc/old'))).toBe(false);
  const { mode, uid, gid, nlink } = statSync(join(rootfs(), 'bin/same'));
  expect([mode & 0o7777, uid, gid, nlink]).toEqual([0o4755, 7, 8, 2]);
  expect(readdirSync(folder).toSorted()).toEqual(['archive', 'rootfs']);
  rmSync(rootfs(), { recursive: true });
};

describe('an archive of an image', () => {
  it('is loaded as docker save writes it, plain or compressed, also with compressed layers', async () => {
    const plain = await makeDockerArchive();
    for (const bytes of [plain, gzipSync(plain), zstdCompressSync(plain)]) await expectLoaded(bytes);
    const layers = [await lower(), await upper()];
    await expectLoaded(await makeDockerArchive({ layers, packed: layers.map((layer) => gzipSync(layer)) }));
  });

  it('is loaded as an OCI image layout, with and without a platform, and through an index', async () => {
    await expectLoaded(await makeLayout());
    await expectLoaded(await makeLayout({ platform: machine }));
    await expectLoaded(await makeLayout({ platform: machine, wrap: true }));
  });

  describe('of several images', () => {
    const layout = () =>
      makeLayout({
        count: 2,
        names: [
          {
            'io.containerd.image.name': 'docker.io/library/app:v1',
            'org.opencontainers.image.ref.name': 'v1',
          },
          { 'org.opencontainers.image.ref.name': 'other' },
        ],
      });

    const archive = () => makeDockerArchive({ images: dockerImages });

    it.each([
      ['app:v1', 'b', layout],
      ['docker.io/library/app:v1', 'b', layout],
      ['index.docker.io/library/app:v1', 'b', layout],
      ['other', 'other', layout],
      ['b', 'other', archive],
      ['docker.io/library/app:v2', 'b', archive],
      [`sha256:${'5'.repeat(64)}`, 'other', archive],
    ])('is loaded by a name or the digest of one, %s', async (image, value, make) => {
      expect((await load(await make(), { image })).config.env).toEqual({ A: value });
    });

    it('is refused with their names', async () => {
      const both = 'docker.io/library/app:v1, other';
      await expect(load(await layout())).rejects.toThrow(
        `the archive has several images, choose one: ${both}`,
      );
      await expect(load(await layout(), { image: 'app:v3' })).rejects.toThrow(
        `the archive has no image "app:v3", but ${both}`,
      );
      const unnamed = load(await makeLayout({ count: 2 }));
      await expect(unnamed).rejects.toThrow(/choose one: sha256:[0-9a-f]{64}, sha256:[0-9a-f]{64}$/);
      await expect(load(await archive())).rejects.toThrow('choose one: app:v1, app:v2, b:latest');
    });

    it('is loaded without one when all are the same', async () => {
      const images = [dockerImages[0], { ...dockerImages[0], RepoTags: ['same:1'] }] as object[];
      expect((await load(await makeDockerArchive({ images }))).config.env).toEqual({ A: 'b' });
    });
  });

  it.each([
    ['no archive', 'corrupt', () => Promise.resolve(Buffer.from('no archive at all'.repeat(100)))],
    ['one that is cut off', 'corrupt', async () => (await makeDockerArchive()).subarray(0, 3000)],
    ['one of something else', 'corrupt', () => makeTar([{ name: 'a', content: 'b' }])],
    [
      'a layer that is missing',
      'corrupt',
      () => makeDockerArchive({ images: [{ Config: 'config.json', Layers: ['x', 'y'] }] }),
    ],
    [
      'another layer than its config says',
      'corrupt',
      async () =>
        makeDockerArchive({ layers: [await upper(), await lower()], packed: [await lower(), await upper()] }),
    ],
    [
      'a name that leads out',
      'unsafe',
      () => makeDockerArchive({ more: [{ name: '../../evil', content: 'x' }] }),
    ],
    [
      'a link that leads out',
      'unsafe',
      () => makeDockerArchive({ more: [{ name: 'l', type: 'symlink', linkname: '../../etc/passwd' }] }),
    ],
    [
      'a circle of links',
      'corrupt',
      () =>
        makeDockerArchive({
          more: [
            { name: 'real/0.tar', type: 'symlink', linkname: '1.tar' },
            { name: 'real/1.tar', type: 'symlink', linkname: '0.tar' },
          ],
        }),
    ],
    ['several images', 'unsuitable_image', () => makeDockerArchive({ images: dockerImages })],
    [
      'a file of an owner that no sandbox has',
      'unsuitable_image',
      async () => makeDockerArchive({ layers: [await makeTar([{ name: 'a', content: 'a', uid: 65_536 }])] }),
    ],
    ['several images in a layout', 'unsuitable_image', () => makeLayout({ count: 2 })],
    [
      'none for this machine',
      'registry_refused',
      () => makeLayout({ platform: { os: 'linux', architecture: 'vax' } }),
    ],
    [
      'a blob with another content',
      'corrupt',
      () =>
        makeLayout({
          damage: (blobs) => {
            for (const [digest, bytes] of blobs) blobs.set(digest, Buffer.concat([bytes, Buffer.from(' ')]));
          },
        }),
    ],
  ])('with %s is refused, and leaves nothing beside it', async (_what, code, make) => {
    await expect(load(await make())).rejects.toMatchObject({ code });
    expect(readdirSync(folder).filter((name) => name !== 'rootfs')).toEqual(['archive']);
    expect(existsSync(join(folder, '../evil'))).toBe(false);
  });

  it('ends where the host has no room for it, and with its signal', async () => {
    const bytes = await makeDockerArchive();
    spareBytes = 1;
    await expect(load(bytes)).rejects.toThrow();
    const reason = new Error('enough');
    await expect(load(bytes, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(readdirSync(folder)).toEqual(['archive']);
  });
});
