import { createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { BlobStore } from '@skerry/blobs';
import { openBlobStore } from '@skerry/blobs/open';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { removeBlobCopy } from '../blob-copies/list-copies.ts';
import { serveRequests } from '../blob-copies/serve-requests.ts';
import { type SnapshotCopies, toManifestKey, toSignatureKey } from '../blob-copies/snapshot-copies.ts';
import { toSnapshotSocket } from '../blob-copies/snapshot-socket.ts';
import { createMemory } from '../drivers/memory/memory.ts';
import { RuntimeError } from '../error.ts';
import { markAttack } from '../suite/attack-row.ts';
import { loadCredentials } from './credentials.ts';
import { createNodeRuntime } from './node-runtime.ts';
import { createRemoteSnapshots, type RemoteSnapshots } from './node-snapshots.ts';
import { serveNode } from './serve-node.ts';
import { createImagesInMemory } from './testing/images-in-memory.ts';
import { makeTestAuthority } from './testing/write-credentials.ts';

let folder: string;
let blobs: BlobStore;
const opened: { close(): Promise<void> }[] = [];
const templateDigest = `sha256:${'a'.repeat(64)}`;
const manifestSha256 = 'b'.repeat(64);

/** Snapshots of one blob each, by id. */
const createSnapshotCopies = (contents: Map<string, string>): SnapshotCopies => ({
  write: async (id, { blobs: store, copy, signal }) => {
    const content = contents.get(id);
    if (content === undefined) throw new RuntimeError('not_found', `no snapshot ${id}`);
    const { sizeBytes } = await store.put(toManifestKey(copy), Readable.from([content]), { signal });
    return { manifestSha256, sizeBytes };
  },
  read: async (id, { blobs: store, copy, signal, rootfs }) => {
    contents.set(id, `${rootfs} ${await text((await store.get(toManifestKey(copy), { signal })).body)}`);
  },
});

/** The snapshots of a node that a server of the installation "one" owns. */
const openNode = async (stored: SnapshotCopies | undefined): Promise<RemoteSnapshots> => {
  const dataDir = join(folder, 'node');
  mkdirSync(join(dataDir, 'run'), { recursive: true });
  const snapshotSocket = toSnapshotSocket(dataDir);
  const onError = () => undefined;
  opened.push(await serveRequests(stored, { socketPath: snapshotSocket, onError }));
  const authority = await makeTestAuthority(join(folder, 'authority'));
  const credentials = loadCredentials(await authority.write({ role: 'platform' }), { role: 'platform' });
  const served = await serveNode(createMemory({ dataDir, agent: () => () => undefined }), {
    listen: { host: '127.0.0.1', port: 0 },
    credentials: loadCredentials(await authority.write({ role: 'node', name: 'a' }), { role: 'node' }),
    ownerFile: join(folder, 'owner.json'),
    measureFolder: async () => [],
    describe: () => ({
      version: '1',
      base: { rootfs: '/', digest: '' },
      templatesFolder: '/templates',
      room: { sandboxes: 1, memoryBytes: 1, cpuCount: 1 },
      usedMemoryBytes: 0,
    }),
    images: createImagesInMemory(),
    snapshotSocket,
    onOwner: () => undefined,
    onError,
    onStranger: () => undefined,
  });
  opened.push(served);
  const address = { name: 'a', ...served.address };
  const claim = { installation: 'one', owner: 'server', epoch: 1 };
  opened.push(await createNodeRuntime({ address, credentials, claim }));
  return createRemoteSnapshots({ address, credentials, installation: 'one', store: { blobs, key: 'key' } });
};

/** Signs a copy as the server does after a store. */
const sign = async (copy: string): Promise<void> => {
  const text = `manifest:${copy}:${manifestSha256}:${templateDigest}`;
  const signature = createHmac('sha256', 'key').update(text).digest();
  await blobs.put(toSignatureKey(copy), Readable.from([signature]));
};

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-node-snapshots-'));
  blobs = await openBlobStore({ kind: 'folder', folder: join(folder, 'blobs') });
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
  rmSync(folder, { recursive: true });
});

it('stores a snapshot of a node in the store of the server, and fetches it from there', async () => {
  const contents = new Map([['s1', 'content']]);
  const node = await openNode(createSnapshotCopies(contents));
  const request = { snapshot: 's1', copy: 'c1', templateDigest };
  expect(await node.store(request)).toEqual({ manifestSha256, sizeBytes: 7 });
  contents.clear();
  await node.fetch({ ...request, snapshot: 's2', manifestSha256, rootfs: '/images/base' });
  expect([...contents]).toEqual([['s2', '/images/base content']]);
  await removeBlobCopy(blobs, 'c1');
  await expect(node.fetch({ ...request, manifestSha256, rootfs: '/images/base' })).rejects.toMatchObject({
    name: 'RuntimeError',
  });
  await expect(node.store({ ...request, snapshot: 'none' })).rejects.toMatchObject({
    code: 'not_found',
    message: 'no snapshot none',
  });
});

it('opens no blobs to a node but those of the copy, and none to write with a fetch', async () => {
  await blobs.put('snapshots/c2/manifest.json', Readable.from(['of another']));
  const seen: unknown[] = [];
  const attempt = (work: Promise<unknown>) =>
    work.then(
      () => seen.push('allowed'),
      (error: { code?: string }) => seen.push(error.code),
    );
  const key = toManifestKey('c1');
  const node = await openNode({
    write: async (_id, { blobs: store }) => {
      await attempt(store.get('snapshots/c2/manifest.json'));
      await attempt(store.put('snapshots/c2/manifest.json', Readable.from(['x'])));
      await attempt(store.put('snapshots/c1', Readable.from(['x'])));
      await attempt(store.list('snapshots/')[Symbol.asyncIterator]().next());
      await attempt(store.list('')[Symbol.asyncIterator]().next());
      await attempt(store.delete('snapshots/c1/manifest.json'));
      await attempt(store.put(key, Readable.from(['x'])));
      return { manifestSha256, sizeBytes: 1 };
    },
    read: async (_id, { blobs: store }) => {
      await attempt(store.put(key, Readable.from(['y'])));
      await attempt(store.head(key));
    },
  });
  const request = { snapshot: 's1', copy: 'c1', templateDigest };
  await node.store(request);
  await node.fetch({ ...request, manifestSha256, rootfs: '/' });
  const denied = Array.from({ length: 6 }, () => 'denied');
  expect(seen).toEqual([...denied, 'allowed', 'denied', 'allowed']);
});

it('believes no result that is none', async () => {
  const node = await openNode({
    write: async () => ({ manifestSha256: 'no digest', sizeBytes: 1 }),
    read: () => Promise.reject(new RuntimeError('damaged', 'x'.repeat(100_000))),
  });
  await sign('c1');
  const request = { snapshot: 's1', copy: 'c1', templateDigest };
  await expect(node.store(request)).rejects.toMatchObject({ code: 'unsupported' });
  await expect(node.fetch({ ...request, manifestSha256, rootfs: '/' })).rejects.toMatchObject({
    code: 'unsupported',
    message: 'the host sent too long a result',
  });
});

it('ends what a node does when the signal aborts or the server leaves, and refuses what it cannot do', async () => {
  const ended: string[] = [];
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const node = await openNode({
    write: (id, { signal }) =>
      new Promise((_resolve, reject) => {
        begin();
        signal?.addEventListener('abort', () => {
          ended.push(id);
          reject(new RuntimeError('unavailable', 'aborted'));
        });
      }),
    read: () => Promise.reject(new RuntimeError('unsupported', 'the kernel was 5 and is 6 here')),
  });
  await sign('c1');
  const abort = new AbortController();
  const stored = node.store({ snapshot: 's1', copy: 'c1', templateDigest }, { signal: abort.signal });
  await begun;
  abort.abort();
  await expect(stored).rejects.toMatchObject({ code: 'unavailable' });
  await expect.poll(() => ended).toEqual(['s1']);
  const request = { snapshot: 's1', copy: 'c1', templateDigest, manifestSha256, rootfs: '/' };
  await expect(node.fetch(request)).rejects.toMatchObject({
    code: 'unsupported',
    message: 'the kernel was 5 and is 6 here',
  });
  await expect(node.fetch({ ...request, rootfs: 'relative' })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('"rootfs"'),
  });
});

it('has no node fetch a manifest that no server of the installation has signed', async (test) => {
  markAttack(test, {
    attack: 'having a node fetch a copy with a wrong signature, or without one, from the blob store',
    place: 'outside',
    stoppedBy: "the server's signature of each manifest",
  });
  const fetched: string[] = [];
  const node = await openNode({
    write: async () => ({ manifestSha256, sizeBytes: 7 }),
    read: async (id) => void fetched.push(id),
  });
  const request = { snapshot: 's1', copy: 'c1', templateDigest, manifestSha256, rootfs: '/' };
  await node.store(request);
  await node.fetch(request);
  const unsigned = { code: 'damaged', message: expect.stringContaining('is not signed') };
  const others = [
    { ...request, manifestSha256: 'e'.repeat(64) },
    { ...request, templateDigest: `sha256:${'e'.repeat(64)}` },
    { ...request, copy: 'c2' },
  ];
  for (const other of others) await expect(node.fetch(other)).rejects.toMatchObject(unsigned);
  const { body } = await blobs.get(toSignatureKey('c1'));
  await blobs.put(toSignatureKey('c2'), body);
  await expect(node.fetch({ ...request, copy: 'c2' })).rejects.toMatchObject(unsigned);
  for (const wrong of ['', 'x'.repeat(32), 'x'.repeat(1_000)]) {
    await blobs.put(toSignatureKey('c1'), Readable.from([wrong]));
    await expect(node.fetch(request)).rejects.toMatchObject(unsigned);
  }
  expect(fetched).toEqual(['s1']);
});
