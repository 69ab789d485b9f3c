import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { pack } from 'tar-stream';

/** One entry of a layer in tests, `content` makes it a file unless `type` says otherwise. */
export interface LayerEntry {
  name: string;
  type?: 'file' | 'directory' | 'symlink' | 'link' | 'fifo' | 'block-device' | 'character-device';
  content?: string;
  linkname?: string;
  mode?: number;
  uid?: number;
  gid?: number;
  mtime?: Date;
  pax?: Record<string, string>;
}

/** The bytes of a tar with these entries, in this order, however hostile. */
export async function makeTar(entries: readonly LayerEntry[]): Promise<Buffer> {
  const archive = pack();
  for (const { content, type = content === undefined ? 'directory' : 'file', mode, ...rest } of entries) {
    const header = {
      mode: mode ?? (type === 'directory' ? 0o755 : 0o644),
      type,
      mtime: new Date(0),
      ...rest,
    };
    if (type === 'file') archive.entry(header, content ?? '');
    else archive.entry(header);
  }
  archive.finalize();
  // A streamx stream, which its types do not declare as iterable.
  return buffer(archive as unknown as AsyncIterable<Uint8Array>);
}

export interface BlobDescriptor {
  mediaType: string;
  digest: string;
  size: number;
}

/** A registry of tests on loopback that serves what it was given, with every request in `requests`. */
export interface LoopbackRegistry {
  /** `127.0.0.1:port`. */
  host: string;
  requests: { url: string; authorization: string | undefined }[];
  /** Looks at each request first; true when it has answered it. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  addBlob(bytes: Buffer, mediaType?: string): BlobDescriptor;
  findBlob(digest: string): Buffer | undefined;
  addLayer(entries: readonly LayerEntry[], compression?: 'none' | 'gzip' | 'zstd'): Promise<BlobDescriptor>;
  /** Serves a manifest with these layers under a tag, through an index when `viaIndex`. Returns its digest. */
  addImage(tag: string, layers: readonly BlobDescriptor[], o?: { viaIndex?: boolean }): string;
  addManifest(tag: string, document: unknown): string;
  close(): Promise<void>;
}

const layerType = 'application/vnd.oci.image.layer.v1.tar';

export async function startLoopbackRegistry(): Promise<LoopbackRegistry> {
  const blobs = new Map<string, Buffer>();
  const manifests = new Map<string, Buffer>();
  const server: Server = createServer((request, response) => {
    registry.requests.push({ url: request.url ?? '', authorization: request.headers.authorization });
    if (registry.intercept?.(request, response)) return;
    const [, kind, name = ''] = /^\/v2\/[a-z/]+\/(manifests|blobs)\/(.+)$/.exec(request.url ?? '') ?? [];
    const body = (kind === 'blobs' ? blobs : manifests).get(name);
    response.writeHead(body ? 200 : 404).end(body ?? '{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const registry: LoopbackRegistry = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    intercept: undefined,
    addBlob(bytes, mediaType = layerType) {
      const digest = toDigest(bytes);
      blobs.set(digest, bytes);
      return { mediaType, digest, size: bytes.length };
    },
    findBlob: (digest) => blobs.get(digest),
    async addLayer(entries, compression = 'gzip') {
      const tar = await makeTar(entries);
      if (compression === 'gzip') return registry.addBlob(gzipSync(tar), `${layerType}+gzip`);
      if (compression === 'zstd') return registry.addBlob(zstdCompressSync(tar), `${layerType}+zstd`);
      return registry.addBlob(tar);
    },
    addImage(tag, layers, { viaIndex = false } = {}) {
      const manifest = { schemaVersion: 2, layers };
      if (!viaIndex) return registry.addManifest(tag, manifest);
      const digest = registry.addManifest(`${tag}-image`, manifest);
      const other = {
        digest: `sha256:${'0'.repeat(64)}`,
        platform: { os: 'windows', architecture: 'amd64' },
      };
      const platforms = ['amd64', 'arm64'].map((architecture) => ({
        digest,
        platform: { os: 'linux', architecture },
      }));
      registry.addManifest(tag, { schemaVersion: 2, manifests: [other, ...platforms] });
      return digest;
    },
    addManifest(tag, document) {
      const bytes = Buffer.from(JSON.stringify(document));
      const digest = toDigest(bytes);
      manifests.set(tag, bytes).set(digest, bytes);
      return digest;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return registry;
}

function toDigest(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
