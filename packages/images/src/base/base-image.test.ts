import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LoopbackRegistry, startLoopbackRegistry } from '../oci/testing/loopback-registry.ts';
import type { Progress } from '../progress.ts';
import { openTree } from '../unpacker/testing/open-tree.ts';
import { type BaseImageOptions, ensureBaseImage } from './base-image.ts';
import { completeBaseImage } from './complete-base-image.ts';
import { baseRecipes } from './recipe.ts';
import { completeLayer } from './testing/complete-layer.ts';
import { makeImageFile } from './testing/make-image-file.ts';
import { withFolderLock } from './testing/with-folder-lock.ts';

let imagesDir = '';
let registry: LoopbackRegistry;
let progress: Progress[] = [];

beforeEach(async () => {
  imagesDir = join(mkdtempSync(join(tmpdir(), 'skerry-base-image-')), 'images');
  registry = await startLoopbackRegistry();
  registry.addImage('v1', [await registry.addLayer(completeLayer)]);
  progress = [];
});
afterEach(async () => {
  await registry.close();
  rmSync(dirname(imagesDir), { recursive: true, force: true });
});

function ensure(options: Partial<BaseImageOptions> = {}): ReturnType<typeof ensureBaseImage> {
  return ensureBaseImage({
    imagesDir,
    contents: 'minimal',
    registryImage: `${registry.host}/some/image:v1`,
    onProgress: (step) => progress.push(step),
    withFolderLock,
    openTree,
    ...options,
  });
}

const manifestRequests = (): number =>
  registry.requests.filter(({ url }) => url.includes('/manifests/')).length;

describe('ensureBaseImage', () => {
  it('makes the image once, shows progress to the end, and only finds it from then on', async () => {
    const made = await ensure();
    expect(made.rootfs).toMatch(new RegExp(`^${imagesDir}/base-[0-9a-f]{16}/rootfs$`));
    expect(made.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(progress.map(({ phase }) => phase)).toEqual(expect.arrayContaining(['pull', 'finish']));
    expect(progress.at(-1)?.fraction).toBe(1);
    expect(JSON.parse(readFileSync(join(made.rootfs, '../manifest.json'), 'utf8'))).toMatchObject({
      name: 'base-minimal',
      source: { kind: 'registry', reference: `${registry.host}/some/image:v1` },
      digest: made.digest,
    });
    progress = [];
    expect(await ensure()).toEqual(made);
    expect(progress).toEqual([]);
    expect(manifestRequests()).toBe(1);
  });

  it('keeps users of the host away from the setuid programs of an image', async () => {
    const { rootfs } = await ensure();
    expect(lstatSync(dirname(rootfs)).mode & 0o777).toBe(0o700);
    expect(lstatSync(rootfs).mode & 0o777).toBe(0o755);
  });

  it('makes it once for callers that ask at the same time', async () => {
    const images = await Promise.all([ensure(), ensure(), ensure()]);
    expect(new Set(images.map(({ digest }) => digest)).size).toBe(1);
    expect(manifestRequests()).toBe(1);
    expect(progress.filter(({ phase }) => phase === 'wait')).toHaveLength(2);
  });

  it('makes another image for another reference and leaves the first alone', async () => {
    const first = await ensure();
    registry.addImage('v2', [await registry.addLayer([...completeLayer, { name: 'new', content: 'x' }])]);
    const second = await ensure({ registryImage: `${registry.host}/some/image:v2` });
    expect(second.digest).not.toBe(first.digest);
    expect(existsSync(join(second.rootfs, 'new'))).toBe(true);
    expect(existsSync(join(first.rootfs, 'new'))).toBe(false);
  });

  it('makes it again when its manifest is damaged', async () => {
    const { rootfs, digest } = await ensure();
    writeFileSync(join(rootfs, '../manifest.json'), '{"recipe":');
    writeFileSync(join(rootfs, 'bin/bash'), 'damaged');
    expect(await ensure()).toEqual({ rootfs, digest, missing: [] });
    expect(readFileSync(join(rootfs, 'bin/bash'), 'utf8')).toBe('#!');
  });

  it('removes what a killed build left, and waits for no dead one', async () => {
    registry.intercept = ({ url = '' }, response) =>
      url.includes('/blobs/') && response.writeHead(200).write('x');
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `const { ensureBaseImage } = await import(${JSON.stringify(join(import.meta.dirname, 'base-image.ts'))});
         const { openTree } = await import(${JSON.stringify(join(import.meta.dirname, '../unpacker/testing/open-tree.ts'))});
         const [imagesDir, registryImage] = process.argv.slice(1);
         await ensureBaseImage({ imagesDir, contents: 'minimal', registryImage, onProgress: () => {}, openTree, withFolderLock: (_, work) => work() });`,
        ...[imagesDir, `${registry.host}/some/image:v1`],
      ],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    await expect.poll(() => registry.requests.length).toBe(2);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(readdirSync(imagesDir).some((name) => name.startsWith('.building-'))).toBe(true);
    registry.intercept = undefined;
    const { rootfs } = await ensure();
    expect(readdirSync(imagesDir).toSorted()).toEqual([dirname(rootfs).split('/').at(-1)]);
  });

  it('leaves nothing when the signal aborts in the middle', async () => {
    const abort = new AbortController();
    registry.intercept = ({ url = '' }, response) => {
      if (!url.includes('/blobs/')) return false;
      response.writeHead(200).write('x', () => abort.abort(new Error('no time')));
      return true;
    };
    await expect(ensure({ signal: abort.signal })).rejects.toThrow('no time');
    expect(readdirSync(imagesDir)).toEqual([]);
  });

  it.each([
    ['the image is unknown', 'v404', 'registry_refused'],
    ['the image has neither the programs nor an apt', 'empty', 'unsuitable_image'],
  ])('rejects and leaves nothing when %s', async (_, tag, code) => {
    registry.addImage('empty', [await registry.addLayer([{ name: 'etc/' }])]);
    const failing = ensure({ registryImage: `${registry.host}/some/image:${tag}` });
    await expect(failing).rejects.toMatchObject({ code });
    expect(readdirSync(imagesDir)).toEqual([]);
  });

  it('turns to the distribution’s packages when the registry does not answer', async () => {
    const abort = new AbortController();
    await registry.close();
    const made = ensure({
      signal: abort.signal,
      onProgress: ({ phase, message }) => {
        progress.push({ phase, message });
        if (phase === 'install') abort.abort(new Error('seen enough'));
      },
    });
    await expect(made).rejects.toThrow('seen enough');
    expect(progress.map(({ phase }) => phase)).toEqual(['pull', 'install']);
    registry = await startLoopbackRegistry();
  });
});

describe('an image that lacks packages', () => {
  const git = baseRecipes.minimal.packages.git;
  const addIncomplete = async (): Promise<void> => {
    const layer = completeLayer.filter(({ name }) => name !== git);
    registry.addImage('v1', [
      await registry.addLayer([
        ...layer,
        { name: 'usr/bin/apt-get', content: '#!/bin/sh\nexit 1\n', mode: 0o755 },
      ]),
    ]);
  };
  const complete = (image: string, isFile: boolean) => {
    const registryImage = `${registry.host}/some/image:v1`;
    const digest = `sha256:${'1'.repeat(64)}`;
    return completeBaseImage({
      imagesDir,
      contents: 'minimal',
      registryImage,
      withFolderLock,
      image,
      digest,
      isFile,
    });
  };

  it('is made without them, runs nothing, and is replaced by what a sandbox makes of it', async () => {
    await addIncomplete();
    const incomplete = await ensure();
    expect(incomplete.missing).toEqual(['git']);
    expect(progress.at(-1)?.fraction).not.toBe(1);
    expect(await ensure()).toEqual(incomplete);
    const made = join(imagesDir, '.completing-x');
    mkdirSync(join(made, 'bin'), { recursive: true });
    const completed = await complete(made, false);
    expect(completed).toEqual({ ...incomplete, digest: `sha256:${'1'.repeat(64)}`, missing: [] });
    expect(await ensure()).toEqual(completed);
    expect(readdirSync(completed.rootfs)).toEqual(['bin']);
    expect(readdirSync(imagesDir)).toEqual([dirname(completed.rootfs).split('/').at(-1)]);
  });

  it('is replaced as a file, too', async () => {
    await addIncomplete();
    const { rootfs, missing } = await ensure({ makeFile: makeImageFile });
    expect(missing).toEqual(['git']);
    const made = join(imagesDir, '.completing-x.ext4');
    writeFileSync(made, 'made');
    const completed = await complete(made, true);
    expect(readFileSync(completed.rootfs, 'utf8')).toBe('made');
    expect(existsSync(rootfs)).toBe(false);
    expect(await ensure({ makeFile: makeImageFile })).toEqual(completed);
  });
});

describe('the base image', () => {
  it('has the account "user" in the place of any other with its name or number', async () => {
    const { rootfs } = await ensure();
    const read = (name: string): string => readFileSync(join(rootfs, name), 'utf8');
    expect(read('etc/passwd')).toBe(
      'root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\n',
    );
    expect(read('etc/group')).toBe('root:x:0:\nuser:x:1000:\n');
    expect(read('etc/shadow')).toBe('root:*:1::::::\nuser:*::0:99999:7:::\n');
    expect(lstatSync(join(rootfs, 'etc/shadow'))).toMatchObject({ mode: 0o100640, gid: 42 });
    expect(existsSync(join(rootfs, 'etc/gshadow'))).toBe(false);
    expect(lstatSync(join(rootfs, 'home/user'))).toMatchObject({ mode: 0o40755, uid: 1000, gid: 1000 });
    expect(lstatSync(join(rootfs, 'home/user/.profile'))).toMatchObject({
      mode: 0o100600,
      uid: 1000,
      gid: 1000,
    });
    expect(lstatSync(join(rootfs, 'etc/sudoers.d/user'))).toMatchObject({ mode: 0o100440, uid: 0 });
    expect(read('etc/sudoers.d/user')).toContain('user ALL=(ALL:ALL) NOPASSWD: ALL\n');
  });

  it('holds names and resolver as plain files, and nothing of the machine that built it', async () => {
    const { rootfs } = await ensure();
    for (const name of ['hosts', 'hostname', 'resolv.conf', 'machine-id', 'motd'])
      expect(lstatSync(join(rootfs, 'etc', name)).isFile(), name).toBe(true);
    expect(readFileSync(join(rootfs, 'etc/machine-id'), 'utf8')).toBe('');
    expect(readFileSync(join(rootfs, 'etc/motd'), 'utf8')).toBe('');
    for (const folder of ['etc/ssh', 'tmp', 'dev', 'usr/share/man/man1'])
      expect(readdirSync(join(rootfs, folder)), folder).toEqual([]);
    expect(readdirSync(join(rootfs, 'usr/share/doc/tool'))).toEqual(['copyright']);
    expect(readdirSync(join(rootfs, 'var/lib/apt/lists'))).toEqual(['partial']);
    expect(lstatSync(join(rootfs, 'var/lib/apt/lists/partial'))).toMatchObject({ mode: 0o40700, uid: 100 });
    expect(lstatSync(join(rootfs, 'tmp')).mode & 0o7777).toBe(0o1777);
  });

  it('has folders for the manuals of packages, and a setcap of its own unless the image has one', async () => {
    const { rootfs } = await ensure();
    const sections = [1, 2, 3, 4, 5, 6, 7, 8].map((section) => `man${section}`);
    expect(readdirSync(join(rootfs, 'usr/share/man'))).toEqual(sections);
    const setcap = 'usr/local/sbin/setcap';
    expect(lstatSync(join(rootfs, setcap))).toMatchObject({ mode: 0o100755, uid: 0 });
    expect(readFileSync(join(rootfs, 'etc/apt/apt.conf.d/90setcap'), 'utf8')).toContain('"/usr/local/sbin:');
    const own = { name: setcap, content: 'own', mode: 0o755 };
    registry.addImage('own', [await registry.addLayer([...completeLayer, own])]);
    const other = await ensure({ registryImage: `${registry.host}/some/image:own` });
    expect(readFileSync(join(other.rootfs, setcap), 'utf8')).toBe('own');
  });

  it('writes through no link of the image to the outside', async () => {
    const outside = join(dirname(imagesDir), 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'passwd'), 'untouched');
    const layers = [
      await registry.addLayer(completeLayer),
      await registry.addLayer([
        { name: 'etc/passwd', type: 'symlink', linkname: join(outside, 'passwd') },
        { name: 'etc/hosts', type: 'symlink', linkname: join(outside, 'hosts') },
        { name: 'etc/sudoers.d', type: 'symlink', linkname: outside },
        { name: 'home', type: 'symlink', linkname: outside },
        { name: 'var/log', type: 'symlink', linkname: outside },
        { name: 'tmp/', type: 'directory' },
        { name: 'tmp/link', type: 'symlink', linkname: outside },
      ]),
    ];
    registry.addImage('links', layers);
    const { rootfs } = await ensure({ registryImage: `${registry.host}/some/image:links` });
    expect(readdirSync(outside)).toEqual(['passwd']);
    expect(readFileSync(join(outside, 'passwd'), 'utf8')).toBe('untouched');
    for (const name of ['etc/passwd', 'etc/hosts'])
      expect(lstatSync(join(rootfs, name)).isFile(), name).toBe(true);
  });
});
