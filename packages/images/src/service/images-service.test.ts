import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createRouterTransport } from '@connectrpc/connect';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { completeLayer } from '../base/testing/complete-layer.ts';
import { makeImageFile } from '../base/testing/make-image-file.ts';
import { sealImageFolder } from '../base/testing/seal-image-folder.ts';
import { withFolderLock } from '../base/testing/with-folder-lock.ts';
import { ImageError } from '../image-error.ts';
import { type LoopbackRegistry, startLoopbackRegistry } from '../oci/testing/loopback-registry.ts';
import type { Progress } from '../progress.ts';
import { unpackerProgram } from '../unpacker/testing/open-tree.ts';
import { fromConnectError, toConnectError } from './failure.ts';
import { addImagesService } from './images-service.ts';
import { requestBaseImage } from './request-base-image.ts';
import { createTemplateImages } from './request-template-images.ts';

let spare = { sizeBytes: 2 ** 30, entryCount: 1000 };
const transport = createRouterTransport((router) =>
  addImagesService(router, {
    withFolderLock,
    makeImageFile,
    sealImageFolder,
    isPublicAddress: () => false,
    readSpareRoom: () => spare,
    unpackerProgram,
  }),
);
let imagesDir: string;
let registry: LoopbackRegistry;
let progress: Progress[];

beforeEach(async () => {
  imagesDir = join(mkdtempSync(join(tmpdir(), 'skerry-images-service-')), 'images');
  registry = await startLoopbackRegistry();
  registry.addImage('v1', [await registry.addLayer(completeLayer)]);
  progress = [];
});
afterEach(async () => {
  await registry.close();
  rmSync(dirname(imagesDir), { recursive: true, force: true });
});

const request = (
  options: { registryImage?: string; imagesDir?: string; asFile?: boolean; signal?: AbortSignal } = {},
) =>
  requestBaseImage(transport, {
    imagesDir,
    contents: 'minimal',
    registryImage: `${registry.host}/some/image:v1`,
    asFile: false,
    onProgress: (step) => progress.push(step),
    ...options,
  });

const readFromImage = async (image: string, path: string): Promise<string> =>
  (await promisify(execFile)('/usr/sbin/debugfs', ['-R', `cat ${path}`, image])).stdout;

describe('the service that makes images', () => {
  it('makes the base image and reports the progress, and only finds the image from then on', async () => {
    const made = await request();
    expect(made.rootfs).toMatch(new RegExp(`^${imagesDir}/base-[0-9a-f]{16}/rootfs$`));
    expect(made.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(progress.map(({ phase }) => phase)).toEqual(expect.arrayContaining(['pull', 'finish']));
    expect(progress.at(-1)).toEqual({ phase: 'finish', message: 'the base image is ready', fraction: 1 });
    progress = [];
    expect(await request()).toEqual(made);
    expect(progress).toEqual([]);
  });

  it('makes the base image a file beside its folder, and finds each from then on', async () => {
    const folder = await request();
    const file = await request({ asFile: true });
    const requested = registry.requests.length;
    expect(file.rootfs).toBe(join(imagesDir, `${file.digest.replace(':', '-')}.ext4`));
    expect(await readFromImage(file.rootfs, '/rootfs/etc/hostname')).toBe('sandbox\n');
    expect(await request({ asFile: true })).toEqual(file);
    expect(await request()).toEqual(folder);
    expect(registry.requests).toHaveLength(requested);
  });

  it('rejects with the error of the build', async () => {
    await expect(request({ registryImage: `${registry.host}/some/image:none` })).rejects.toMatchObject({
      name: 'ImageError',
      code: 'registry_refused',
    });
    expect(readdirSync(imagesDir)).toEqual([]);
  });

  it('rejects with the reason of the signal, and ends the build', async () => {
    mkdirSync(imagesDir);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const holder = withFolderLock(imagesDir, () => released, {
      waitMs: 0,
      onWait: () => expect.unreachable(),
    });
    const stopping = new AbortController();
    const refused = expect(request({ signal: stopping.signal })).rejects.toThrow('enough');
    await expect.poll(() => progress.map(({ phase }) => phase)).toEqual(['wait']);
    stopping.abort(new Error('enough'));
    await refused;
    release();
    await holder;
    // A build that went on would take the lock now.
    await expect(request()).resolves.toBeDefined();
    expect(registry.requests.filter(({ url }) => url.includes('/manifests/'))).toHaveLength(1);
  });

  it('refuses a folder that depends on where the process works', async () => {
    await expect(request({ imagesDir: 'images' })).rejects.not.toBeInstanceOf(ImageError);
    expect(registry.requests).toEqual([]);
  });

  it('keeps code, message and remedy of an error, and none of its cause', () => {
    const sent = new ImageError('missing_program', 'tar is not installed', {
      cause: new Error('secret'),
      remedy: 'apt-get install tar',
    });
    const received = fromConnectError(toConnectError(sent));
    expect(received).toEqual(
      new ImageError('missing_program', 'tar is not installed', { remedy: sent.remedy as string }),
    );
    expect((received as ImageError).remedy).toBe('apt-get install tar');
  });
});

describe('the images of templates', () => {
  const image = (
    onMessage: (message: string) => void = () => undefined,
    signal = AbortSignal.timeout(30_000),
  ) => ({
    reference: `${registry.host}/some/image:env`,
    refresh: false,
    onMessage,
    signal,
  });
  const open = (
    allowedRegistries = [registry.host],
    options: { asFile?: boolean; ownerOffset?: number; ecrEndpoint?: string } = {},
  ) =>
    createTemplateImages(transport, {
      folder: join(imagesDir, 'templates'),
      layersFolder: join(imagesDir, 'layers'),
      keepsLayers: true,
      asFile: true,
      allowedRegistries,
      ...options,
    });

  beforeEach(async () => {
    const config = registry.addBlob(
      Buffer.from(JSON.stringify({ config: { Env: ['PATH=/opt/bin:/bin', 'LANG=C.UTF-8', '1=x', 'none'] } })),
      'application/vnd.oci.image.config.v1+json',
    );
    const layers = [
      await registry.addLayer([
        { name: 'bin/sh', content: '#!', mode: 0o755 },
        { name: 'srv/file', content: 'from a layer', uid: 1000, gid: 1000 },
      ]),
    ];
    registry.addManifest('env', { schemaVersion: 2, config, layers });
  });

  it('are file systems with the layers, the account and the environment of the image', async () => {
    const images = open();
    const messages: string[] = [];
    const made = await images.make(image((message) => messages.push(message)));
    expect(made.env).toEqual({ PATH: '/opt/bin:/bin', LANG: 'C.UTF-8' });
    expect(new Set(messages).size).toBe(messages.length);
    const path = images.toPath(made.digest);
    expect(await readFromImage(path, '/rootfs/srv/file')).toBe('from a layer');
    expect(await readFromImage(path, '/rootfs/etc/passwd')).toContain(
      'user:x:1000:1000::/home/user:/bin/sh\n',
    );
    expect(await readFromImage(path, '/rootfs/bin/bash')).toBe('#!/bin/sh\nexec /bin/sh "$@"\n');
    expect(readdirSync(join(imagesDir, 'templates'))).toEqual([basename(path)]);
  });

  it('are listed, kept from finished files and removed, and remains of killed builds disappear', async () => {
    const images = open();
    expect(await images.list()).toEqual([]);
    const { digest } = await images.make(image());
    const file = images.toUnfinished('export');
    writeFileSync(file, 'content');
    const other = `sha256:${'1'.repeat(64)}`;
    await images.keep({ file, digest: other });
    mkdirSync(join(imagesDir, 'templates', '.building-x', 'tree'), { recursive: true });
    writeFileSync(images.toUnfinished('killed'), 'half');
    expect(new Set(await images.list())).toEqual(new Set([digest, other]));
    expect(readdirSync(join(imagesDir, 'templates'))).toHaveLength(2);
    await images.remove(other);
    await images.remove(other);
    expect(await images.list()).toEqual([digest]);
    await expect(images.remove('../../etc')).rejects.toThrow();
  });

  it('are folders where none can be mounted, with the owners of a sandbox, and equal ones are one', async () => {
    const images = open([registry.host], { asFile: false, ownerOffset: 7 });
    const { digest } = await images.make(image());
    expect((await images.make(image())).digest).toBe(digest);
    const path = images.toPath(digest);
    expect(basename(path)).toBe(digest.replace(':', '-'));
    expect(readFileSync(join(path, 'srv/file'), 'utf8')).toBe('from a layer');
    const { uid, gid } = statSync(join(path, 'srv/file'));
    expect([uid, gid, statSync(join(path, 'bin/bash')).uid]).toEqual([1007, 1007, 7]);
    const exported = images.toUnfinished('export');
    mkdirSync(join(exported, 'etc'), { recursive: true });
    const other = `sha256:${'1'.repeat(64)}`;
    await images.keep({ file: exported, digest: other });
    mkdirSync(join(images.toUnfinished('killed'), 'etc'), { recursive: true });
    expect(new Set(await images.list())).toEqual(new Set([digest, other]));
    await images.remove(digest);
    await images.remove(digest);
    expect(readdirSync(join(imagesDir, 'templates'))).toEqual([basename(images.toPath(other))]);
  });

  it('are not made from a registry that is not public, unless the operator allows it', async () => {
    const message = `registry ${registry.host} is not at a public address; the operator can allow it by skerry up --registry ${registry.host}`;
    await expect(open([]).make(image())).rejects.toMatchObject({ code: 'registry_refused', message });
    expect(registry.requests).toEqual([]);
    expect(readdirSync(join(imagesDir, 'templates'))).toEqual([]);
  });

  it('are not made from the endpoint that issues tokens of AWS, which is no registry', async () => {
    const authorizationToken = Buffer.from('AWS:token').toString('base64');
    registry.intercept = (_, response) =>
      Boolean(response.end(JSON.stringify({ authorizationData: [{ authorizationToken }] })));
    const images = open([], { ecrEndpoint: `http://${registry.host}/` });
    const aws = {
      kind: 'aws',
      accessKeyId: 'an-id',
      secretAccessKey: 'a-secret',
      region: 'eu-west-1',
    } as const;
    const message = expect.stringContaining(`registry ${registry.host} is not at a public address`);
    for (const call of [images.make, images.findOrigin])
      await expect(call({ ...image(), credentials: aws })).rejects.toMatchObject({ message });
    expect(registry.requests.map(({ url }) => url)).toEqual(['/', '/']);
  });

  it.each([
    { sizeBytes: 5, entryCount: 1000 },
    { sizeBytes: 2 ** 30, entryCount: 0 },
  ])('are not made, with nothing left, when the host has room for no more than %j', async (room) => {
    const before = spare;
    spare = room;
    mkdirSync(imagesDir);
    writeFileSync(join(imagesDir, 'room.json'), JSON.stringify(room));
    try {
      await expect(open().make(image())).rejects.toMatchObject({ code: 'no_room' });
    } finally {
      spare = before;
    }
    expect(readdirSync(join(imagesDir, 'templates'))).toEqual([]);
  });

  it.each(['etc/passwd', 'etc/shadow'])('are not made of an image with a huge %s', async (name) => {
    const layer = await registry.addLayer([{ name, content: 'x'.repeat(2 ** 20 + 1) }]);
    registry.addImage('env', [layer]);
    await expect(open().make(image())).rejects.toMatchObject({ code: 'unsuitable_image' });
    expect(readdirSync(join(imagesDir, 'templates'))).toEqual([]);
  });

  it.each(['etc', 'var'])('are not made of an image whose /%s is a file', async (name) => {
    registry.addImage('env', [await registry.addLayer([{ name, content: 'x' }])]);
    await expect(open().make(image())).rejects.toMatchObject({ code: 'unsuitable_image' });
  });

  it('are not made of an image with a huge skeleton of homes', async () => {
    const content = 'x'.repeat((64 << 20) + 1);
    registry.addImage('env', [await registry.addLayer([{ name: 'etc/skel/file', content }])]);
    await expect(open().make(image())).rejects.toMatchObject({ code: 'unsuitable_image' });
  });

  it('are not made, with nothing left, when a blob of the image is another one', async () => {
    registry.intercept = (request, response) => {
      if (!request.url?.includes('/blobs/')) return false;
      response.writeHead(200).end('other bytes');
      return true;
    };
    await expect(open().make(image())).rejects.toMatchObject({ code: 'corrupt' });
    expect(readdirSync(join(imagesDir, 'templates'))).toEqual([]);
  });

  it('are not made, with nothing left, when the caller aborts', async () => {
    const stopping = new AbortController();
    const stop = (): void => stopping.abort(new Error('enough'));
    await expect(open().make(image(stop, stopping.signal))).rejects.toThrow('enough');
    await expect.poll(() => readdirSync(join(imagesDir, 'templates'))).toEqual([]);
  });
});
