import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createMemory } from '../drivers/memory/memory.ts';
import { type Credentials, loadCredentials } from './credentials.ts';
import { createRemoteImages, type RemoteImages } from './node-images.ts';
import { createNodeRuntime } from './node-runtime.ts';
import { type NodeServer, serveNode } from './serve-node.ts';
import { createImagesInMemory, digestOf } from './testing/images-in-memory.ts';
import { makeTestAuthority, type TestAuthority } from './testing/write-credentials.ts';

let folder: string;
let authority: TestAuthority;
let platform: Credentials;
const opened: { close(): Promise<void> }[] = [];

const image = randomBytes(3 * 2 ** 20);
const digest = digestOf(image);
const sizeBytes = image.length;
const body = (content = image): Readable => Readable.from([content], { objectMode: false });

/** A node that a server of the installation "one" owns, and its images. */
const serve = async (
  name: string,
): Promise<{ contents: Map<string, Buffer>; address: NodeServer['address'] }> => {
  const dataDir = join(folder, name);
  const contents = new Map<string, Buffer>();
  const memory = createMemory({ dataDir, agent: () => () => undefined });
  const served = await serveNode(memory, {
    listen: { host: '127.0.0.1', port: 0 },
    credentials: loadCredentials(await authority.write({ role: 'node', name }), { role: 'node' }),
    ownerFile: join(folder, `${name}.json`),
    measureFolder: async () => [],
    describe: () => ({
      version: '1',
      base: { rootfs: '/', digest: '' },
      templatesFolder: '/templates',
      room: { sandboxes: 1, memoryBytes: 1, cpuCount: 1 },
      usedMemoryBytes: 0,
    }),
    images: createImagesInMemory(contents),
    snapshotSocket: '/nonexistent/snapshots.sock',
    onOwner: () => undefined,
    onError: () => undefined,
    onStranger: () => undefined,
  });
  opened.push(served);
  const owner = { installation: 'one', owner: 'server', epoch: 1 };
  const address = { name, ...served.address };
  opened.push(await createNodeRuntime({ address, credentials: platform, claim: owner }));
  return { contents, address: served.address };
};

const imagesOf = (
  name: string,
  { address }: { address: NodeServer['address'] },
  installation = 'one',
): RemoteImages => createRemoteImages({ address: { name, ...address }, credentials: platform, installation });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-node-images-'));
  authority = await makeTestAuthority(join(folder, 'certificates'));
  platform = loadCredentials(await authority.write({ role: 'platform' }), { role: 'platform' });
});
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one.close();
  rmSync(folder, { recursive: true });
});

it('brings an image from one node to another, once', async () => {
  const [a, b] = [await serve('a'), await serve('b')];
  const [from, to] = [imagesOf('a', a), imagesOf('b', b)];
  a.contents.set(digest, image);
  expect([await from.find(digest), await to.find(digest)]).toEqual([true, false]);
  const found = await from.read(digest);
  expect(found.sizeBytes).toBe(sizeBytes);
  await to.write({ digest, sizeBytes }, found.body);
  expect(b.contents.get(digest)?.equals(image)).toBe(true);
  const unread = body();
  await to.write({ digest, sizeBytes }, unread);
  expect(unread.readableDidRead).toBe(false);
  expect((await buffer((await to.read(digest)).body)).equals(image)).toBe(true);
});

it('reports an image that is missing, damaged or cut, and keeps none of them', async () => {
  const a = await serve('a');
  const images = imagesOf('a', a);
  await expect(images.read(digest)).rejects.toMatchObject({ code: 'not_found' });
  const damaged = Buffer.from(image);
  damaged[9] = (damaged[9] as number) ^ 1;
  await expect(images.write({ digest, sizeBytes }, body(damaged))).rejects.toMatchObject({ code: 'damaged' });
  const cut = Readable.from(
    (async function* () {
      yield image.subarray(0, 100);
      throw new Error('the source is gone');
    })(),
    { objectMode: false },
  );
  await expect(images.write({ digest, sizeBytes }, cut)).rejects.toMatchObject({ code: 'unavailable' });
  expect(a.contents.size).toBe(0);
});

it('ends with an error when its source does', async () => {
  const a = await serve('a');
  a.contents.set(digest, randomBytes(64 * 2 ** 20));
  const { body: read } = await imagesOf('a', a).read(digest);
  const reading = buffer(read);
  await opened[0]?.close();
  await expect(reading).rejects.toMatchObject({ code: 'unavailable' });
});

it('is refused to another installation', async () => {
  const a = await serve('a');
  a.contents.set(digest, image);
  await expect(imagesOf('a', a, 'other').read(digest)).rejects.toThrow('another installation');
});
