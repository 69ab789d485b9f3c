import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { emptyConfig } from './image-config.ts';
import { createLayerSink } from './layer-sink.ts';
import { pullImage } from './pull.ts';
import {
  type LayerEntry,
  type LoopbackRegistry,
  startLoopbackRegistry,
} from './testing/loopback-registry.ts';
import { readAttributes } from './testing/read-attributes.ts';
import { createImageBudget, type UnpackBudget } from './unpack.ts';

let folder = '';
let rootfs = '';
let registry: LoopbackRegistry;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'skerry-pull-'));
  rootfs = join(folder, 'rootfs');
  mkdirSync(join(folder, 'outside'));
  writeFileSync(join(folder, 'outside/secret'), 'untouched', { mode: 0o600 });
  registry = await startLoopbackRegistry();
});
afterEach(async () => {
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Serves one image with these layers and pulls it. */
async function pull(...layers: LayerEntry[][]): Promise<void> {
  const blobs = await Promise.all(layers.map((entries) => registry.addLayer(entries)));
  registry.addImage('v1', blobs);
  await pullTag('v1');
}

async function pullTag(
  tag: string,
  { budget, ...options }: Partial<Parameters<typeof pullImage>[0] & { budget: Partial<UnpackBudget> }> = {},
): Promise<unknown> {
  const reference = `${registry.host}/some/image:${tag}`;
  const { signal } = options;
  const tree = createLayerSink(rootfs, { budget: { ...createImageBudget(), ...budget }, signal });
  return pullImage({ reference, tree, onProgress: () => undefined, retryMs: 1, ...options });
}

const read = (name: string): string => readFileSync(join(rootfs, name), 'utf8');
const stat = (name: string): ReturnType<typeof lstatSync> => lstatSync(join(rootfs, name));

describe('pullImage', () => {
  it('keeps content, owner, mode with setuid, times, symbolic and hard links', async () => {
    await pull([
      { name: './' },
      { name: './bin/', mode: 0o750, mtime: new Date(1_000_000_000_000) },
      {
        name: './bin/tool',
        content: 'tool',
        mode: 0o4755,
        uid: 12,
        gid: 34,
        mtime: new Date(1_100_000_000_000),
      },
      { name: './bin/same', type: 'link', linkname: 'bin/tool' },
      { name: './bin/alias', type: 'symlink', linkname: '/nowhere/at all', uid: 7, gid: 8 },
      { name: 'deep/er/file', content: 'x'.repeat(300_000) },
    ]);
    expect(stat('bin')).toMatchObject({ mode: 0o40750, mtimeMs: 1_000_000_000_000 });
    expect(stat('bin/tool')).toMatchObject({ mode: 0o104755, uid: 12, gid: 34, mtimeMs: 1_100_000_000_000 });
    expect(stat('bin/same')?.ino).toBe(stat('bin/tool')?.ino);
    expect(readlinkSync(join(rootfs, 'bin/alias'))).toBe('/nowhere/at all');
    expect(stat('bin/alias')).toMatchObject({ uid: 7, gid: 8 });
    expect(read('deep/er/file')).toHaveLength(300_000);
    expect(stat('deep/er')).toMatchObject({ mode: 0o40755, uid: 0 });
  });

  it('reads gzip, zstd and plain layers, through an index that lists other machines first', async () => {
    const layers = [
      await registry.addLayer([{ name: 'a', content: 'a' }], 'gzip'),
      await registry.addLayer([{ name: 'b', content: 'b' }], 'zstd'),
      await registry.addLayer([{ name: 'c', content: 'c' }], 'none'),
    ];
    const digest = registry.addImage('v1', layers, { viaIndex: true });
    expect(await pullTag('v1')).toEqual({ manifestDigest: digest, config: emptyConfig() });
    expect(['a', 'b', 'c'].map(read)).toEqual(['a', 'b', 'c']);
  });

  it('keeps names beyond 100 characters and beyond ASCII', async () => {
    const name = `${'long-folder-name/'.repeat(12)}ein-ö-日本`;
    await pull([{ name, content: 'found' }]);
    expect(read(name)).toBe('found');
  });

  describe('with later layers', () => {
    it('replaces files by folders, folders by files and links by their successors', async () => {
      await pull(
        [
          { name: 'file', content: '1' },
          { name: 'folder/inside', content: '1' },
          { name: 'link', type: 'symlink', linkname: 'folder' },
        ],
        [
          { name: 'file/' },
          { name: 'file/now', content: 'a folder' },
          { name: 'link', content: 'a file too' },
          { name: 'folder', content: 'a file' },
        ],
      );
      expect(read('file/now')).toBe('a folder');
      expect(read('folder')).toBe('a file');
      expect(read('link')).toBe('a file too');
    });

    it('rejects a file below a file', async () => {
      const layers = [[{ name: 'file', content: '1' }], [{ name: 'file/below', content: '2' }]];
      await expect(pull(...layers)).rejects.toMatchObject({ code: 'corrupt' });
    });

    it('removes what a whiteout names, and nothing that the same layer contains', async () => {
      await pull(
        [
          { name: 'gone', content: '1' },
          { name: 'folder/old', content: '1' },
          { name: 'kept', content: '1' },
        ],
        [
          { name: 'folder/new', content: '2' },
          { name: '.wh.gone', content: '' },
          { name: '.wh.folder', content: '' },
          { name: '.wh.never-was', content: '' },
          { name: '.wh..wh.plnk', content: '' },
        ],
      );
      expect(readdirSync(rootfs).toSorted()).toEqual(['folder', 'kept']);
      expect(readdirSync(join(rootfs, 'folder'))).toEqual(['new']);
    });

    it('empties an opaque folder of everything below it, at any position of the marker in the layer', async () => {
      await pull(
        [
          { name: 'folder/old', content: '1' },
          { name: 'folder/sub/old', content: '1' },
        ],
        [
          { name: 'folder/sub/new', content: '2' },
          { name: 'folder/.wh..wh..opq', content: '' },
          { name: 'folder/newer', content: '2' },
        ],
      );
      expect(readdirSync(rootfs, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual([
        'folder',
        'folder/newer',
        'folder/sub',
        'folder/sub/new',
      ]);
    });

    it('follows links to folders inside of the image, as lib → usr/lib', async () => {
      await pull(
        [{ name: 'usr/lib/' }, { name: 'lib', type: 'symlink', linkname: 'usr/lib' }],
        [{ name: 'lib/x.so', content: 'x' }],
        [
          { name: 'lib/y.so', content: 'y' },
          { name: 'lib/.wh.x.so', content: '' },
        ],
      );
      expect(readdirSync(join(rootfs, 'usr/lib'))).toEqual(['y.so']);
      expect(stat('lib')?.isSymbolicLink()).toBe(true);
    });
  });

  describe('with hostile layers', () => {
    afterEach(() => {
      expect(readdirSync(join(folder, 'outside'))).toEqual(['secret']);
      expect(readFileSync(join(folder, 'outside/secret'), 'utf8')).toBe('untouched');
      expect(lstatSync(join(folder, 'outside/secret'))).toMatchObject({ mode: 0o100600, nlink: 1, uid: 0 });
      expect(readdirSync(folder).filter((name) => name !== 'rootfs')).toEqual(['outside']);
    });

    it.each([
      ['a name that climbs', [{ name: '../outside/new', content: 'x' }]],
      ['a name that climbs later', [{ name: 'a/../../outside/new', content: 'x' }]],
      ['a hard link that climbs', [{ name: 'a', type: 'link', linkname: '../outside/secret' }]],
      ['a whiteout of the folder itself', [{ name: 'a/.wh..', content: '' }]],
      ['a whiteout of the folder above', [{ name: '.wh...', content: '' }]],
      ['a file in the place of the root', [{ name: './', content: 'x', type: 'file' }]],
    ] satisfies [string, LayerEntry[]][])('refuses %s', async (_, entries) => {
      await expect(pull(entries)).rejects.toMatchObject({ code: 'unsafe' });
    });

    const longFolder = `${'d'.repeat(200)}/`.repeat(15);
    it.each<[string, LayerEntry[]]>([
      ['a folder', [{ name: 'd/'.repeat(5_000) }]],
      ['a file', [{ name: 'x'.repeat(256), content: 'x' }]],
      ['the target of a link', [{ name: 'a', type: 'symlink', linkname: 'x/'.repeat(5_000) }]],
      [
        'a file behind a link',
        [
          { name: longFolder },
          { name: 'a', type: 'symlink', linkname: longFolder },
          { name: `a/${longFolder}` },
        ],
      ],
    ])('refuses too long a path of %s with its length', async (_, entries) => {
      await expect(pull(entries)).rejects.toMatchObject({
        code: 'corrupt',
        message: expect.stringMatching(/^a layer has an entry with too long a path, of \d+ bytes/),
      });
    });

    it('resolves absolute names from the root of the image', async () => {
      await pull([{ name: join(folder, 'outside/new'), content: 'x' }]);
      expect(read(join(folder, 'outside/new'))).toBe('x');
    });

    it.each(['/', '../../../../../../../..'])('writes through a link to %s only inside', async (target) => {
      const outside = join(folder, 'outside').slice(1);
      await pull(
        [
          { name: 'escape', type: 'symlink', linkname: target },
          { name: `escape/${outside}/secret`, content: 'overwritten', mode: 0o777, uid: 5 },
          { name: `escape/${outside}/.wh.secret2`, content: '' },
        ],
        [
          { name: `escape/${outside}/new`, content: 'x' },
          { name: `escape/${outside}/.wh..wh..opq`, content: '' },
        ],
      );
      expect(readdirSync(join(rootfs, outside))).toEqual(['new']);
    });

    it.each(['symlink', 'directory'] as const)(
      'replaces a %s that points to the outside and does not follow it',
      async (type) => {
        const secret = join(folder, 'outside/secret');
        await pull([
          { name: 'a', type: 'symlink', linkname: secret },
          { name: 'b', type: 'symlink', linkname: join(folder, 'outside') },
          { name: 'a', content: 'plain', mode: 0o777, uid: 5 },
          { name: 'b', type, linkname: '/x', mode: 0o777, uid: 5 },
        ]);
        expect(read('a')).toBe('plain');
        expect(stat('b')?.isSymbolicLink()).toBe(type === 'symlink');
      },
    );

    it('hard links a symbolic link itself, not its target', async () => {
      await pull([
        { name: 'a', type: 'symlink', linkname: join(folder, 'outside/secret') },
        { name: 'b', type: 'link', linkname: 'a' },
      ]);
      expect(stat('b')?.isSymbolicLink()).toBe(true);
    });

    it('sets neither time nor attribute through a link that later replaced a folder', async () => {
      const before = lstatSync(join(folder, 'outside')).mtimeMs;
      await pull([
        { name: 'a/' },
        { name: 'a/outside/', mtime: new Date(5), pax: { 'SCHILY.xattr.user.mark': 'x' } },
        { name: 'a/outside/secret', content: 'x', pax: { 'SCHILY.xattr.user.mark': 'x' } },
        { name: 'a', type: 'symlink', linkname: folder },
      ]);
      expect(lstatSync(join(folder, 'outside')).mtimeMs).toBe(before);
      expect(readAttributes(join(folder, 'outside/secret'))).toEqual({});
    });

    it('skips devices and pipes', async () => {
      await pull([
        { name: 'dev/' },
        { name: 'dev/sda', type: 'block-device' },
        { name: 'dev/null', type: 'character-device' },
        { name: 'dev/pipe', type: 'fifo' },
      ]);
      expect(readdirSync(join(rootfs, 'dev'))).toEqual([]);
    });

    it.each<[string, Partial<UnpackBudget>, Partial<UnpackBudget>]>([
      ['bytes', { sizeBytes: 10_001 }, { sizeBytes: 10_000 }],
      ['entries', { entryCount: 2 }, { entryCount: 1 }],
      // Two headers, the content in whole blocks, and the end.
      ['decompressed bytes', { archiveBytes: 512 * (2 + 20 + 1 + 2) }, { archiveBytes: 512 * 25 - 1 }],
      // The bytes of both entries, and of their places and the folder above them in the image.
      ['bytes in names', { nameBytes: 3 + 1 + 2 + 4 + 2 }, { nameBytes: 11 }],
    ])('rejects more %s than an image may have', async (_, enough, less) => {
      const layer = await registry.addLayer([
        { name: 'a/b', content: 'x'.repeat(10_000) },
        { name: 'c', content: 'x' },
      ]);
      registry.addImage('v1', [layer]);
      await pullTag('v1', { budget: enough });
      await expect(pullTag('v1', { budget: less })).rejects.toMatchObject({ code: 'too_large' });
    });

    it('rejects attributes that no file can have, and more of them than an image may have', async () => {
      const withValue = (value: string) => ({ pax: { 'SCHILY.xattr.user.mark': value } });
      const long = pull([{ name: 'a', content: '', ...withValue('x'.repeat(65_537)) }]);
      await expect(long).rejects.toMatchObject({ code: 'corrupt' });
      rmSync(rootfs, { recursive: true });
      const capability = { 'SCHILY.xattr.security.capability': 'no' };
      await expect(
        pull([{ name: 'a/' }, { name: 'a/b', content: '', pax: capability }]),
      ).rejects.toMatchObject({
        ...{ code: 'corrupt', message: 'the file /a/b of the image has an attribute that it cannot have' },
      });
      rmSync(rootfs, { recursive: true });
      const names = ['a', 'b', 'c'].map((name) => ({ name, content: '', ...withValue('x'.repeat(40)) }));
      registry.addImage('v1', [await registry.addLayer(names)]);
      const many = pullTag('v1', { budget: { attributeBytes: 100 } });
      await expect(many).rejects.toMatchObject({ code: 'too_large' });
    });

    it('rejects a layer whose bytes contradict its digest', async () => {
      const layer = await registry.addLayer([{ name: 'a', content: 'x' }]);
      const other = await registry.addLayer([{ name: 'a', content: 'y' }]);
      registry.intercept = ({ url = '' }, response) => {
        if (!url.endsWith(layer.digest)) return false;
        response.writeHead(307, { location: `/v2/some/image/blobs/${other.digest}` }).end();
        return true;
      };
      registry.addImage('v1', [{ ...layer, size: other.size }]);
      await expect(pullTag('v1')).rejects.toMatchObject({ code: 'corrupt' });
    });

    it.each([-1, 1])('rejects a layer of another size than announced (%i)', async (difference) => {
      const layer = await registry.addLayer([{ name: 'a', content: 'x' }], 'none');
      registry.addImage('v1', [{ ...layer, size: layer.size + difference }]);
      await expect(pullTag('v1')).rejects.toMatchObject({ code: 'corrupt' });
    });

    it('rejects when the connection breaks during a layer', async () => {
      const layer = await registry.addLayer([{ name: 'a', content: 'x'.repeat(100_000) }], 'none');
      registry.intercept = ({ url = '' }, response) => {
        if (!url.includes('/blobs/')) return false;
        response
          .writeHead(200, { 'content-length': layer.size })
          .write(Buffer.alloc(512), () => response.destroy());
        return true;
      };
      registry.addImage('v1', [layer]);
      await expect(pullTag('v1')).rejects.toMatchObject({ code: 'registry_unavailable' });
    });

    it.each([
      ['no tar', Buffer.from('x'.repeat(2048)), 'application/vnd.oci.image.layer.v1.tar'],
      ['no gzip', Buffer.from('x'.repeat(2048)), 'application/vnd.oci.image.layer.v1.tar+gzip'],
      ['foreign', Buffer.alloc(1024), 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip'],
    ])('refuses a layer that is %s', async (_, bytes, mediaType) => {
      registry.addImage('v1', [registry.addBlob(bytes, mediaType)]);
      await expect(pullTag('v1')).rejects.toMatchObject({ code: 'corrupt' });
    });

    it('rejects a manifest whose bytes contradict the requested digest', async () => {
      const digest = registry.addImage('v1', []);
      registry.intercept = (_, response) => Boolean(response.end('{"schemaVersion":2,"layers":[]} '));
      const reference = `${registry.host}/some/image@${digest}`;
      await expect(pullTag('', { reference })).rejects.toMatchObject({ code: 'corrupt' });
    });
  });

  it('stops during a layer when the signal aborts', async () => {
    const layer = await registry.addLayer([{ name: 'a', content: 'x' }], 'none');
    const abort = new AbortController();
    registry.intercept = ({ url = '' }, response) => {
      if (!url.includes('/blobs/')) return false;
      response.writeHead(200).write(Buffer.alloc(100), () => abort.abort(new Error('no time')));
      return true;
    };
    registry.addImage('v1', [layer]);
    await expect(pullTag('v1', { signal: abort.signal })).rejects.toThrow('no time');
    expect(existsSync(join(rootfs, 'a'))).toBe(false);
  });
});
