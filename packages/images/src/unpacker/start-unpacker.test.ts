import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ImageTree } from '../image-tree.ts';
import { type LayerEntry, makeTar } from '../oci/testing/loopback-registry.ts';
import { startUnpacker } from './start-unpacker.ts';
import { unpackerProgram } from './testing/open-tree.ts';
import { defaultLimits, startUnpackerProcess, type UnpackerLimits } from './unpacker-process.ts';

let folder: string;
const trees: ImageTree[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-unpacker-'));
});
afterEach(async () => {
  for (const tree of trees.splice(0)) await tree.close();
  rmSync(folder, { recursive: true });
});

const rootfs = () => join(folder, 'rootfs');
const ownerOf = (path: string) => {
  const { uid, gid } = statSync(join(rootfs(), path));
  return [uid, gid];
};
const open = (limits: Partial<UnpackerLimits> = {}, signal?: AbortSignal): ImageTree => {
  const tree = startUnpacker({
    ...{ program: unpackerProgram, rootfs: rootfs(), roomFolder: folder, signal },
    limits: { ...defaultLimits, ...limits },
  });
  trees.push(tree);
  return tree;
};
const toLayer = (blob: Buffer, pieces: Iterable<Buffer> | AsyncIterable<Buffer> = [blob]) => ({
  descriptor: {
    digest: `sha256:${createHash('sha256').update(blob).digest('hex')}`,
    sizeBytes: blob.length,
    compression: 'none' as const,
  },
  blob: Readable.from(pieces),
});
const pack = async (...entries: LayerEntry[]) => toLayer(await makeTar(entries));

describe('startUnpacker', () => {
  it('makes a tree of several layers and prepares it, in a process that close ends', async () => {
    const tree = open();
    await tree.begin();
    let received = 0;
    const first = await pack(
      { name: 'etc/old', content: 'old' },
      { name: 'big', content: 'x'.repeat(1 << 20) },
    );
    await tree.addLayer({ ...first, onBytes: (count) => (received += count) });
    await tree.addLayer(
      await pack({ name: 'etc/.wh.old', content: '' }, { name: 'etc/new', content: 'new' }),
    );
    await tree.endLayers();
    expect(received).toBe(first.descriptor.sizeBytes);
    expect(readdirSync(join(rootfs(), 'etc'))).toEqual(['new']);
    await tree.prepare({ config: { user: '1000:1001', workdir: '/srv/app' }, sinceMs: 0, ownerOffset: 0 });
    expect(ownerOf('srv')).toEqual([0, 0]);
    expect(ownerOf('srv/app')).toEqual([1000, 1001]);
    expect(readFileSync(join(rootfs(), 'etc/hostname'), 'utf8')).toBe('sandbox\n');
    expect(await tree.inspectBase('minimal')).toMatchObject({ hasApt: false, hasNode: false });
    await tree.close();
    await expect(tree.begin()).rejects.toThrow('was closed');
  });

  it('begins anew with an empty tree', async () => {
    const tree = open();
    await tree.begin();
    await tree.addLayer(await pack({ name: 'a', content: 'x' }));
    await tree.begin();
    await tree.endLayers();
    expect(readdirSync(rootfs())).toEqual([]);
  });

  it('rejects with the error of a layer, while more of it would follow', async () => {
    const tree = open();
    await tree.begin();
    const tar = await makeTar([
      { name: '../a', content: 'x' },
      { name: 'b', content: 'x'.repeat(4 << 20) },
    ]);
    await expect(tree.addLayer(toLayer(tar))).rejects.toMatchObject({ name: 'ImageError', code: 'unsafe' });
  });

  it('rejects a layer that is not what its digest says, and with the error of its source', async () => {
    const tar = await makeTar([{ name: 'a', content: 'x' }]);
    const other = Buffer.from(tar).fill('y', 512, 513);
    const one = open();
    await one.begin();
    await expect(one.addLayer(toLayer(tar, [other]))).rejects.toMatchObject({ code: 'corrupt' });
    const two = open();
    await two.begin();
    const broken = async function* () {
      yield tar.subarray(0, 600);
      throw new Error('the line was cut');
    };
    await expect(two.addLayer(toLayer(tar, broken()))).rejects.toThrow('the line was cut');
  });

  it.each([{ cpuSeconds: 1 }, { waitMs: 1_000 }])('rejects with too_large beyond %j', async (limit) => {
    const tree = open(limit);
    const entries = Array.from({ length: 30_000 }, (_, number) => ({ name: `${number}`, content: '' }));
    const layer = await pack(...entries);
    const unpacking = tree.begin().then(() => tree.addLayer(layer));
    await expect(unpacking).rejects.toMatchObject({ code: 'too_large' });
  });

  it('rejects with the reason of the signal, and writes no more', async () => {
    const aborting = new AbortController();
    const tree = open({}, aborting.signal);
    await tree.begin();
    const tar = await makeTar([{ name: 'a', content: 'x'.repeat(1 << 20) }]);
    const endless = async function* () {
      yield tar.subarray(0, 2_000);
      aborting.abort(new Error('enough'));
      yield tar.subarray(2_000);
    };
    await expect(tree.addLayer(toLayer(tar, endless()))).rejects.toThrow('enough');
    expect(() => open({}, aborting.signal)).toThrow('enough');
    expect(existsSync(join(rootfs(), 'a/b'))).toBe(false);
  });
});

describe('startUnpackerProcess', () => {
  const start = (program: string, limits: Partial<UnpackerLimits> = {}) =>
    startUnpackerProcess(['--input-type=module', '--eval', program], {
      limits: { ...defaultLimits, ...limits },
      signal: undefined,
    });

  it('has no network, few capabilities, no processes of the host, and cannot get more', async () => {
    const child = start(`
      import { readFileSync, readdirSync } from 'node:fs';
      import { networkInterfaces } from 'node:os';
      const status = readFileSync('/proc/self/status', 'utf8');
      const read = (name) => new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm').exec(status)[1];
      console.log(JSON.stringify({
        bounding: read('CapBnd'), effective: read('CapEff'), noNewPrivileges: read('NoNewPrivs'),
        links: Object.keys(networkInterfaces()),
        processes: readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)),
      }));`);
    // capabilities(7): chown, dac_override, fowner, fsetid, setfcap.
    const bits = (2 ** 0 + 2 ** 1 + 2 ** 3 + 2 ** 4 + 2 ** 31).toString(16).padStart(16, '0');
    expect(JSON.parse(await child.read())).toEqual({
      ...{ bounding: bits, effective: bits, noNewPrivileges: '1', links: [], processes: ['1', '2'] },
    });
    await child.end();
  });

  it.each<[string, Partial<UnpackerLimits>]>([
    ['new Array(1e5).fill(kept.length)', { heapBytes: 32 << 20 }],
    ['Buffer.alloc(1 << 20, 1)', { dataBytes: 768 << 20 }],
  ])('is ended by the limits of memory: %s', async (made, limits) => {
    const child = start(`const kept = []; for (;;) kept.push(${made});`, limits);
    await expect(child.read()).rejects.toMatchObject({
      code: 'too_large',
      message: expect.stringContaining('unpacking the image takes more than an image may: '),
    });
  });

  it('reports how a process that fails by itself ended, and what it wrote', async () => {
    const child = start('throw new Error("broken")');
    await expect(child.read()).rejects.toThrow(/ended with status 1\n(.*\n)*.*broken/);
    expect(await child.write('more')).toBe(false);
  });
});
