// Builds from registries that refuse, break off, stand still, or serve what no image may be.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findHelper } from '../faults/lifecycle/server-keeper.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive } from './archive.ts';
import {
  type Answer,
  type FaultyRegistry,
  type ServedImage,
  type ServedLayer,
  startFaultyRegistry,
  tarType,
} from './faulty-registry.ts';
import { createTemplateBuilds, messagesOf } from './template-builds.ts';

let stack: Stack;
let registry: FaultyRegistry;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-faulty-registries-'));
/** Where the entries of hostile layers lead. */
const outside = mkdtempSync(join(tmpdir(), 'skerry-outside-'));
const { register, start, waitForEnd, build } = createTemplateBuilds(() => stack);

beforeAll(async () => {
  registry = await startFaultyRegistry();
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [dataDir, outside]) rmSync(folder, { recursive: true, force: true });
});

type Entries = Parameters<typeof makeArchive>[0];
const makeImage = async (entries: Entries, more: Partial<ServedLayer> = {}): Promise<ServedImage> => ({
  layers: [{ bytes: await makeArchive(entries), ...more }],
});
const list = (folder: string): string[] => readdirSync(join(dataDir, folder));

it('a build fails with the reason of each, and keeps nothing', async () => {
  const plain: Entries = [{ name: 'file', content: 'a'.repeat(100_000) }];
  const { length } = await makeArchive(plain);
  const none = `sha256:${'0'.repeat(64)}`;
  const refuse =
    (status: number, headers = {}): Answer =>
    (response) =>
      Boolean(response.writeHead(status, headers).end());
  const breakOff: Answer = (response) => {
    response.writeHead(200, { 'content-length': length });
    response.write(Buffer.alloc(50_000), () => response.destroy());
    return true;
  };
  const windows = { digest: none, platform: { os: 'windows', architecture: 'amd64' } };
  const above = '../../../../../../..';
  const cases: Record<string, [ServedImage, string]> = {
    forbidden: [{ answer: refuse(403) }, 'forbidden/manifests/latest was answered with 403'],
    later: [
      { answer: refuse(429, { 'retry-after': '3600' }) },
      'with 429; the next attempt is due in 3600 s',
    ],
    empty: [{ answer: refuse(200) }, 'the manifest is no JSON'],
    digest: [await makeImage(plain, { digest: none }), `the layer ${none} has the digest sha256:`],
    broken: [await makeImage(plain, { answer: breakOff }), 'broke off; given up after 4 attempts'],
    short: [await makeImage(plain, { size: length + 1 }), `ended after ${length} of ${length + 1} bytes`],
    long: [await makeImage(plain, { size: length - 1 }), `is longer than ${length - 1} bytes`],
    type: [await makeImage(plain, { mediaType: 'application/x.brotli' }), '"application/x.brotli" are not'],
    damaged: [await makeImage(plain, { mediaType: `${tarType}+gzip` }), 'cannot be unpacked'],
    artifact: [{ manifest: { mediaType: 'application/x.chart' } }, 'it lists neither images nor layers'],
    platform: [{ manifest: { manifests: [windows] } }, 'the image has no build for linux/'],
    climbing: [await makeImage([{ name: `${above}${outside}/new` }]), `entry named "${above}${outside}/new"`],
    linked: [await makeImage([{ name: 'a', type: 'link', linkname: `${above}/etc/shadow` }]), '/etc/shadow"'],
    bomb: [
      await makeImage([{ name: 'zeros', pax: { size: String(17 * 2 ** 30) } }]),
      'the files of the image have more than 16 GiB',
    ],
  };
  const ends = Object.entries(cases).map(async ([name, [image]]) => {
    const { status, reason } = await build(name, { fromImage: registry.serve(name, image) });
    return [name, status, reason];
  });
  const expected = Object.entries(cases).map(([name, [, message]]) => [
    ...[name, 'error', { message: expect.stringContaining(message), step: 'base' }],
  ]);
  expect(await Promise.all(ends)).toEqual(expected);
  await expect.poll(() => list('templates')).toEqual([]);
  expect([list('layers'), readdirSync(outside)]).toEqual([[], []]);
});

it('a pull waits as it is asked, receives again what broke off, and writes nothing outside of the image', async () => {
  const times: number[] = [];
  const answer: Answer = (response, count) => {
    times.push(performance.now());
    if (count === 1) response.writeHead(429, { 'retry-after': '1' }).end();
    return count === 1;
  };
  const folder = outside.slice(1);
  const bytes = await makeArchive([
    { name: 'large', content: 'a'.repeat(100_000) },
    { name: join(outside, 'absolute'), content: 'absolute' },
    { name: 'escape', type: 'symlink', linkname: '/' },
    { name: `escape/${folder}/linked`, content: 'linked' },
    { name: 'up', type: 'symlink', linkname: '../../../../../../..' },
    { name: `up/${folder}/above`, content: 'above' },
    { name: 'disk', type: 'block-device', devmajor: 8, devminor: 0 },
    { name: 'pipe', type: 'fifo' },
  ]);
  const breakOnce: Answer = (response, count) => {
    if (count > 1) return false;
    response.writeHead(200, { 'content-length': bytes.length });
    response.write(bytes.subarray(0, 70_000), () => response.destroy());
    return true;
  };
  const fromImage = registry.serve('patient', { answer, layers: [{ bytes, answer: breakOnce }] });
  expect((await build('patient', { fromImage })).reason).toBeUndefined();
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(990);
  const sandbox = await Sandbox.create({ ...stack.connection, template: 'patient' });
  for (const name of ['absolute', 'linked', 'above'])
    expect(await sandbox.files.read(join(outside, name))).toBe(name);
  const names = (await sandbox.files.list('/')).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['escape', 'large', 'up']));
  expect(names.filter((name) => ['disk', 'pipe'].includes(name))).toEqual([]);
  await sandbox.kill();
  expect(readdirSync(outside)).toEqual([]);
});

it('a build fails with its id alone when the helper is killed in the middle of a pull, and the next build works', async () => {
  const before = list('templates');
  const { promise: requested, resolve: onRequest } = Promise.withResolvers<void>();
  const stand: Answer = (_response, count) => {
    onRequest();
    return count === 1;
  };
  const image = await makeImage([{ name: 'file', content: 'x' }], { answer: stand });
  const body = { fromImage: registry.serve('still', image) };
  const registered = await register('still');
  await start(registered, body);
  await requested;
  process.kill(findHelper(stack), 'SIGKILL');
  const message = `build ${registered.buildID} failed because of an error of this server`;
  const failed = await waitForEnd(registered);
  expect([failed.status, failed.reason]).toEqual(['error', { message }]);
  expect(messagesOf(failed)).toContain(message);
  await expect.poll(() => list('templates')).toEqual(before);
  expect((await build('still', body)).reason).toBeUndefined();
});
