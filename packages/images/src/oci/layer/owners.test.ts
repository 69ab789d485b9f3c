import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLayerSink } from '../layer-sink.ts';
import { pullImage } from '../pull.ts';
import {
  type LayerEntry,
  type LoopbackRegistry,
  startLoopbackRegistry,
} from '../testing/loopback-registry.ts';

let folder = '';
let rootfs = '';
let registry: LoopbackRegistry;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-owners-'));
  rootfs = join(folder, 'rootfs');
  registry = await startLoopbackRegistry();
});
afterEach(async () => {
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
});

const pull = async (...layers: LayerEntry[][]): Promise<void> => {
  rmSync(rootfs, { recursive: true, force: true });
  registry.addImage('v1', await Promise.all(layers.map((entries) => registry.addLayer(entries))));
  await pullImage({
    reference: `${registry.host}/some/image:v1`,
    tree: createLayerSink(rootfs),
    onProgress: () => undefined,
  });
};

const big: LayerEntry = { name: 'srv/big', content: 'x', uid: 70_000 };
const hidden: LayerEntry = { name: 'srv/.wh.big', content: '' };

describe('an image', () => {
  it.each<[LayerEntry, string]>([
    [{ name: 'srv/big', content: 'x', uid: 65_536 }, '"/srv/big" of the image belongs to 65536:0'],
    [{ name: 'srv/', gid: 200_000 }, '"/srv" of the image belongs to 0:200000'],
    [{ name: 'srv/l', type: 'symlink', linkname: '/etc', pax: { uid: '70000' } }, '"/srv/l" of the image'],
  ])('is refused by the name of a file whose owner no sandbox has: %j', async (entry, message) => {
    const layer = [{ name: 'srv/' }, { name: 'srv/last', content: 'x', uid: 65_535, gid: 65_535 }];
    await pull(layer);
    await expect(pull([...layer, entry])).rejects.toMatchObject({
      code: 'unsuitable_image',
      message: expect.stringContaining(`the file ${message}`),
    });
  });

  it('may have such a file in a lower layer, which a later one removes or makes anew', async () => {
    await pull([big], [hidden]);
    expect(readdirSync(join(rootfs, 'srv'))).toEqual([]);
    await pull([big], [{ ...big, uid: 7 }]);
  });

  it('is refused when such a file has another name, and not for one of the host behind a link', async () => {
    const linked: LayerEntry = { name: 'srv/same', type: 'link', linkname: 'srv/big' };
    await expect(pull([big, linked], [hidden])).rejects.toThrow(
      '"/srv/same" of the image belongs to 70000:0',
    );
    mkdirSync(join(folder, 'outside'));
    writeFileSync(join(folder, 'outside/big'), 'x');
    chownSync(join(folder, 'outside/big'), 70_000, 0);
    await pull([big], [{ name: 'srv', type: 'symlink', linkname: join(folder, 'outside') }]);
  });
});
