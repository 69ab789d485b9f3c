import { describe, expect, it } from 'vitest';
import { parseImageManifest } from './image-manifest.ts';

const digest = `sha256:${'0a'.repeat(32)}`;
const other = `sha256:${'0b'.repeat(32)}`;
const layer = { mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip', digest, size: 5 };

describe('parseImageManifest', () => {
  it('selects the Linux image for the processor from an index', () => {
    const manifests = [
      { digest: other, platform: { os: 'linux', architecture: 'arm64', variant: 'v8' } },
      { digest: other, platform: { os: 'windows', architecture: 'amd64' } },
      { digest: other, platform: { os: 'unknown', architecture: 'unknown' } },
      { digest, platform: { os: 'linux', architecture: 'amd64' } },
    ];
    expect(parseImageManifest({ manifests }, { architecture: 'x64' })).toEqual({
      kind: 'index',
      manifestDigest: digest,
    });
    expect(() => parseImageManifest({ manifests }, { architecture: 'riscv64' })).toThrow(
      expect.objectContaining({ code: 'registry_refused' }),
    );
  });

  it('lists the layers of an image with their compression', () => {
    const docker = { ...layer, mediaType: 'application/vnd.docker.image.rootfs.diff.tar.zstd' };
    expect(parseImageManifest({ layers: [layer, docker] })).toEqual({
      kind: 'image',
      layers: [
        { digest, sizeBytes: 5, compression: 'gzip' },
        { digest, sizeBytes: 5, compression: 'zstd' },
      ],
    });
  });

  it.each([
    [null],
    [[]],
    [{}],
    [{ layers: [null] }],
    [{ layers: [{ ...layer, size: -1 }] }],
    [{ layers: [{ ...layer, size: '5' }] }],
    [{ layers: [{ ...layer, digest: 'md5:00' }] }],
    [{ layers: [{ ...layer, digest: `${digest}/../x` }] }],
    [{ layers: [{ ...layer, mediaType: 'toString' }] }],
    [{ manifests: [{ digest: 'x', platform: { os: 'linux', architecture: 'amd64' } }] }],
  ])('calls %j corrupt', (document) => {
    expect(() => parseImageManifest(document, { architecture: 'x64' })).toThrow(
      expect.objectContaining({ code: 'corrupt' }),
    );
  });

  it('rejects more layers than an image may have', () => {
    expect(() => parseImageManifest({ layers: Array(129).fill(layer) })).toThrow(
      expect.objectContaining({ code: 'too_large' }),
    );
  });
});
