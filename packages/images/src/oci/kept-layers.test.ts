import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImageError } from '../image-error.ts';
import {
  createKeptLayers,
  type KeptLayersOptions,
  listLayers,
  removeLayer,
  sweepLayers,
} from './kept-layers.ts';
import { createLayerFlights } from './layer-flights.ts';
import { createLayerSink } from './layer-sink.ts';
import { pullImage } from './pull.ts';
import {
  type BlobDescriptor,
  type LoopbackRegistry,
  startLoopbackRegistry,
} from './testing/loopback-registry.ts';

let folder: string;
let layers: string;
let registry: LoopbackRegistry;
let pulls = 0;
let messages: string[];
const flights = createLayerFlights();
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-kept-layers-'));
  layers = join(folder, 'layers');
  registry = await startLoopbackRegistry();
  messages = [];
});
afterEach(async () => {
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Pulls an image of these layers; returns a reader of its files. */
const pull = async (
  image: readonly BlobDescriptor[],
  {
    refresh = false,
    requireRoom = () => undefined,
    signal,
  }: Partial<KeptLayersOptions> & { signal?: AbortSignal } = {},
): Promise<(name: string) => string> => {
  pulls += 1;
  const tag = `v${pulls}`;
  registry.addImage(tag, image);
  const rootfs = join(folder, `rootfs${pulls}`);
  const keptLayers = await createKeptLayers(layers, { refresh, requireRoom, flights });
  try {
    await pullImage({
      reference: `${registry.host}/some/image:${tag}`,
      tree: createLayerSink(rootfs, { signal }),
      keptLayers,
      signal,
      onProgress: ({ message }) => messages.push(message),
    });
  } finally {
    await keptLayers.finish();
  }
  return (name) => readFileSync(join(rootfs, name), 'utf8');
};
const add = (name: string, content: string): Promise<BlobDescriptor> =>
  registry.addLayer([{ name, content }]);
const countRequests = ({ digest }: BlobDescriptor): number =>
  registry.requests.filter(({ url }) => url.endsWith(digest)).length;
const toFile = ({ digest }: BlobDescriptor): string => join(layers, `${digest.replace(':', '-')}.layer`);

describe('layers that are kept', () => {
  it('are not requested again for another image, and count as used', async () => {
    const [shared, first, second] = [await add('a', 'shared'), await add('b', '1'), await add('b', '2')];
    await pull([shared, first]);
    expect(readFileSync(toFile(shared))).toEqual(registry.findBlob(shared.digest));
    expect(statSync(toFile(shared)).mode & 0o777).toBe(0o600);
    await utimes(toFile(shared), 1, 1);
    const read = await pull([shared, second]);
    expect([read('a'), read('b')]).toEqual(['shared', '2']);
    expect([shared, first, second].map(countRequests)).toEqual([1, 1, 1]);
    expect(messages).toContain('unpacking layer 1 of 2, 0.0 MiB, which an earlier pull has kept');
    expect(readdirSync(layers)).toHaveLength(3);
    const listed = (await listLayers(layers)).find(({ digest }) => digest === shared.digest);
    expect(listed?.lastUsedAt).toBeGreaterThan(Date.now() - 600_000);
    expect(listed?.sizeBytes).toBe(statSync(toFile(shared)).blocks * 512);
  });

  it.each([
    ['other bytes', (bytes: Buffer) => bytes.fill(1, 30)],
    ['fewer bytes', (bytes: Buffer) => bytes.subarray(0, 40)],
    ['more bytes', (bytes: Buffer) => Buffer.concat([bytes, bytes])],
    ['another layer', () => undefined],
  ])('are requested again, and kept, when the disk has %s in their place', async (_, damage) => {
    const image = [await add('a', 'first'), await add('b', 'second'), await add('c', 'third')];
    await pull(image);
    const [before, damaged, after] = image as [BlobDescriptor, BlobDescriptor, BlobDescriptor];
    const other = await add('intruder', 'x');
    const good = Buffer.from(readFileSync(toFile(damaged)));
    writeFileSync(toFile(damaged), damage(Buffer.from(good)) ?? (registry.findBlob(other.digest) as Buffer));
    const read = await pull(image);
    expect(['a', 'b', 'c'].map(read)).toEqual(['first', 'second', 'third']);
    expect(existsSync(join(folder, `rootfs${pulls}`, 'intruder'))).toBe(false);
    expect([before, damaged, after].map(countRequests)).toEqual([1, 2, 1]);
    expect(messages).toContain(
      `the layer ${damaged.digest} was damaged on the disk of the server, and is requested again`,
    );
    expect(readFileSync(toFile(damaged))).toEqual(good);
  });

  it('are requested again with refresh, and replaced', async () => {
    const layer = await add('a', 'x');
    await pull([layer]);
    const before = statSync(toFile(layer)).ino;
    await pull([layer], { refresh: true });
    expect(countRequests(layer)).toBe(2);
    expect(statSync(toFile(layer)).ino).not.toBe(before);
  });

  it('are those of which all was received and verified, also when the pull fails later', async () => {
    const [good, bad] = [await add('a', 'x'), await add('b', 'y')];
    const ahead = await add('c', 'z'.repeat(100_000));
    registry.intercept = ({ url = '' }, response) => {
      if (!url.endsWith(bad.digest)) return false;
      response.end(Buffer.alloc(bad.size));
      return true;
    };
    await expect(pull([good, bad, ahead])).rejects.toMatchObject({ code: 'corrupt' });
    expect(readdirSync(layers)).toEqual([`${good.digest.replace(':', '-')}.layer`]);
    registry.intercept = undefined;
    await pull([good, bad, ahead]);
    expect([good, bad].map(countRequests)).toEqual([1, 2]);
    expect(readdirSync(layers)).toHaveLength(3);
  });

  it('are none where the host has no room for them', async () => {
    const requireRoom = (): never => {
      throw new ImageError('no_room', 'the host is full');
    };
    const read = await pull([await add('a', 'x')], { requireRoom });
    expect(read('a')).toBe('x');
    expect(readdirSync(layers)).toEqual([]);
  });

  describe('that two pulls need at the same moment', () => {
    /** Answers the first request for a layer when all others were requested, and later ones as any. */
    const answerLast = (
      layer: BlobDescriptor,
      others: readonly BlobDescriptor[],
      answer: (response: ServerResponse) => void,
    ): void => {
      let held: ServerResponse | undefined;
      let isFirst = true;
      registry.intercept = ({ url = '' }, response) => {
        const isHeld = isFirst && url.endsWith(layer.digest);
        if (isHeld) [held, isFirst] = [response, false];
        if (held === undefined || !others.every((other) => countRequests(other) > 0)) return isHeld;
        answer(held);
        held = undefined;
        return isHeld;
      };
    };

    it('are requested once, in whatever order the images have them', async () => {
      const [shared, first, second] = [await add('a', 'shared'), await add('b', '1'), await add('b', '2')];
      answerLast(shared, [first, second], (response) => response.end(registry.findBlob(shared.digest)));
      const [one, other] = await Promise.all([pull([shared, first]), pull([shared, second])]);
      expect([one('a'), one('b'), other('a'), other('b')]).toEqual(['shared', '1', 'shared', '2']);
      expect([shared, first, second].map(countRequests)).toEqual([1, 1, 1]);
      const [third, fourth] = [await add('c', '3'), await add('c', '4')];
      const [forth, back] = await Promise.all([pull([third, fourth, third]), pull([fourth, third, fourth])]);
      expect([forth('c'), back('c')]).toEqual(['3', '4']);
      expect([third, fourth].map(countRequests)).toEqual([1, 1]);
    });

    it('are requested by the other as well when the first has not kept them', async () => {
      const [shared, first, second] = [await add('a', 'shared'), await add('b', '1'), await add('b', '2')];
      answerLast(shared, [first, second], (response) => response.end(Buffer.alloc(shared.size)));
      const pulls = await Promise.allSettled([pull([shared, first]), pull([shared, second])]);
      expect(pulls.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      expect(countRequests(shared)).toBe(2);
      const unkept = await add('c', 'unkept');
      const requireRoom = (): never => {
        throw new ImageError('no_room', 'the host is full');
      };
      await Promise.all([pull([unkept], { requireRoom }), pull([unkept], { requireRoom })]);
      expect(countRequests(unkept)).toBe(2);
    });

    it('are no longer waited for after the signal', async () => {
      const [shared, own] = [await add('a', 'shared'), await add('b', 'own')];
      const requested = Promise.withResolvers<ServerResponse>();
      const abort = new AbortController();
      registry.intercept = ({ url = '' }, response) => {
        if (url.endsWith(own.digest)) abort.abort(new Error('no time'));
        if (url.endsWith(shared.digest)) requested.resolve(response);
        return url.endsWith(shared.digest);
      };
      const waitedFor = pull([shared]);
      const response = await requested.promise;
      await expect(pull([shared, own], { signal: abort.signal })).rejects.toThrow('no time');
      response.end(registry.findBlob(shared.digest));
      expect((await waitedFor)('a')).toBe('shared');
    });
  });

  it('can be removed, and remains of killed pulls, too', async () => {
    const layer = await add('a', 'x');
    await pull([layer]);
    writeFileSync(join(layers, '.building-killed.layer'), 'half');
    writeFileSync(join(layers, 'something else'), '');
    expect((await listLayers(layers)).map(({ digest }) => digest)).toEqual([layer.digest]);
    await sweepLayers(layers);
    await removeLayer(layers, layer.digest);
    await removeLayer(layers, layer.digest);
    expect(readdirSync(layers)).toEqual(['something else']);
    expect(await listLayers(join(folder, 'none'))).toEqual([]);
    await expect(async () => removeLayer(layers, '../../etc')).rejects.toThrow('no digest');
  });
});
