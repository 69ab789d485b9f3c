import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Sandbox, type StorageKind, type StorageUsage, storage } from '@skerry/sdk';
import { templates } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive } from './archive.ts';
import { createTemplateBuilds } from './template-builds.ts';

let stack: Stack;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-image-archives-'));
const scratch = mkdtempSync(join(tmpdir(), 'skerry-archives-'));
beforeAll(async () => {
  stack = await startStack({ dataDir });
});
afterAll(async () => {
  await stack.down();
  for (const folder of [dataDir, scratch]) rmSync(folder, { recursive: true, force: true });
});

const { build } = createTemplateBuilds(() => stack);

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const skerry = (argv: readonly string[], stdin?: string): Promise<Ended> => {
  const running = promisify(execFile)(process.execPath, [skerryProgram, ...argv, '--data', dataDir]);
  if (stdin !== undefined) createReadStream(stdin).pipe(running.child.stdin as NodeJS.WritableStream);
  return running.then(
    (ended) => ({ code: 0, ...ended }),
    (error: Ended) => error,
  );
};

const toDigest = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
const at = (name: string): string => join(scratch, name);
/** CAP_SETUID, permitted, as the kernel stores it: bytes that are no text. */
const capability = Buffer.from('0100000280000000000000000000000000000000', 'hex');
/** Text of the same length, which has its place in an archive that is made of text. */
const placeholder = 'capability of a file';

/** What `docker save` writes of images with busybox, one for each colour. */
const makeDockerArchive = async (...colours: readonly string[]): Promise<Buffer> => {
  const busybox = readFileSync('/bin/busybox');
  const owned = { uid: 1234, gid: 5678 };
  const text = await makeArchive([
    { name: 'bin/busybox', mode: 0o755, content: busybox as never },
    ...['sh', 'cat', 'stat', 'readlink'].map((applet) => ({
      name: `bin/${applet}`,
      type: 'symlink' as const,
      linkname: 'busybox',
    })),
    { name: 'srv/', type: 'directory', mode: 0o1770, ...owned },
    { name: 'srv/one', mode: 0o4750, content: 'one', ...owned },
    { name: 'srv/two', type: 'link', linkname: 'srv/one' },
    { name: 'srv/noted', content: 'n', pax: { 'SCHILY.xattr.user.note': 'kept' } },
    { name: 'srv/able', mode: 0o755, content: 'a', pax: { 'SCHILY.xattr.security.capability': placeholder } },
  ] as never);
  const layer = Buffer.from(
    text.toString('latin1').replace(placeholder, capability.toString('latin1')),
    'latin1',
  );
  const toConfig = (colour: string): string =>
    JSON.stringify({
      config: { Env: ['PATH=/bin', `COLOUR=${colour}`] },
      rootfs: { diff_ids: [toDigest(layer)] },
    });
  const images = colours.map((colour) => ({
    Config: `${colour}.json`,
    RepoTags: [`${colour}:v1`],
    Layers: ['l/layer.tar'],
  }));
  return makeArchive([
    { name: 'l/layer.tar', content: layer as never },
    ...colours.map((colour) => ({ name: `${colour}.json`, content: toConfig(colour) })),
    { name: 'manifest.json', content: JSON.stringify(images) },
  ]);
};

const readAll = async (template: string): Promise<string> => {
  const sandbox = await Sandbox.create({ ...stack.connection, template });
  try {
    const command = 'echo $COLOUR; stat -c "%n %a %u:%g %h %F" /srv /srv/*';
    return (await sandbox.commands.run(command, { user: 'root' })).stdout;
  } finally {
    await sandbox.kill();
  }
};

/** The documents of an archive that was saved, and the names and attributes in its layer. */
const readSaved = (file: string) => {
  const folder = mkdtempSync(at('unpacked-'));
  execFileSync('tar', ['-xf', file, '-C', folder]);
  const readJson = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const toBlob = ({ digest }: { digest: string }): string => `blobs/${digest.replace(':', '/')}`;
  const index = readJson('index.json');
  const manifest = readJson(toBlob(index.manifests[0]));
  const layer = join(folder, toBlob(manifest.layers[0]));
  for (const blob of [index.manifests[0], manifest.config, ...manifest.layers]) {
    const bytes = readFileSync(join(folder, toBlob(blob)));
    expect([toDigest(bytes), bytes.length]).toEqual([blob.digest, blob.size]);
  }
  return { folder, index, manifest, config: readJson(toBlob(manifest.config)), layer };
};

/** Without times, and the accounts: a load writes some files of these anew. */
const listEntries = (layer: string): string[] =>
  String(execFileSync('tar', ['-tvf', layer, '--numeric-owner', '--utc']))
    .split('\n')
    .map((line) => line.replace(/ \d{4}-\d\d-\d\d \d\d:\d\d /, ' '))
    .filter((line) => !line.endsWith(' ./etc/passwd'));

it('becomes a template, and is the same when it is saved, unpacked and loaded again', async () => {
  writeFileSync(at('docker.tar'), await makeDockerArchive('blue'));
  const loaded = await skerry(['image', 'load', '--name', 'loaded:v1', '--tag', 'default', at('docker.tar')]);
  expect(loaded).toMatchObject({ code: 0, stdout: 'loaded\n' });
  const found = [
    'blue',
    '/srv 1770 1234:5678 2 directory',
    '/srv/able 755 0:0 1 regular file',
    '/srv/noted 644 0:0 1 regular file',
    '/srv/one 4750 1234:5678 2 regular file',
    '/srv/two 4750 1234:5678 2 regular file',
  ];
  expect((await readAll('loaded:v1')).trim().split('\n')).toEqual(found);

  const saved = await skerry(['image', 'save', 'loaded:v1', '-o', at('saved.tar'), '--json']);
  const bytes = readFileSync(at('saved.tar'));
  expect(JSON.parse(saved.stdout)).toEqual({
    ...{ template: 'loaded:v1', file: at('saved.tar') },
    ...{ sizeBytes: bytes.length, digest: toDigest(bytes) },
  });
  const { folder, index, manifest, config, layer } = readSaved(at('saved.tar'));
  expect(index.manifests[0].annotations['io.containerd.image.name']).toBe('docker.io/library/loaded:v1');
  expect(manifest.layers[0].mediaType).toBe('application/vnd.oci.image.layer.v1.tar');
  expect(config).toMatchObject({
    config: { Env: expect.arrayContaining(['PATH=/bin', 'COLOUR=blue']) },
    rootfs: { diff_ids: [manifest.layers[0].digest] },
  });
  mkdirSync(at('tree'));
  execFileSync('tar', ['-xf', layer, '-C', at('tree'), '--xattrs', '--xattrs-include=*', '-p']);
  const attributes = execFileSync('getfattr', ['-d', '-m', '-', '-R', '--absolute-names', at('tree/srv')]);
  expect(String(attributes)).toContain('user.note="kept"');
  expect(String(attributes)).toContain(`security.capability=0s${capability.toString('base64')}`);

  // From a folder, and from stdin.
  expect(await skerry(['image', 'load', '-q', '--name', 'again', folder])).toEqual({
    ...{ code: 0, stdout: 'again\n', stderr: '' },
  });
  expect(await skerry(['image', 'load', '--json', '--name', 'third', '-'], at('saved.tar'))).toMatchObject({
    code: 0,
  });
  // Both have the same bytes. The first has another shell in its accounts: there was no bash.
  expect(readdirSync(join(dataDir, 'templates'))).toHaveLength(2);
  await Promise.all(
    [
      ['third', 'third.tar'],
      ['loaded:v1', 'same.tar'],
    ].map(([name = '', file = '']) => skerry(['image', 'save', name, '-o', at(file)])),
  );
  expect(readFileSync(at('same.tar')).equals(bytes)).toBe(true);
  expect(listEntries(readSaved(at('third.tar')).layer)).toEqual(listEntries(layer));
  const left = await templates.save('third', stack.connection);
  await left.archive.cancel();
  expect((await readAll('third')).trim().split('\n')).toEqual(found);
  expect(readdirSync(join(dataDir, 'imports'))).toEqual([]);
  const listUnfinished = () => readdirSync(join(dataDir, 'templates')).filter((name) => name.startsWith('.'));
  await expect.poll(listUnfinished).toEqual([]);
});

it('has the user and the folder of a template, and not the values of its steps', async () => {
  const steps = ['USER worker', 'WORKDIR /opt/app', 'ENV TOKEN a-value-of-a-step'].map((line) => {
    const [type, ...args] = line.split(' ');
    return { type, args };
  });
  expect((await build('configured', { fromTemplate: 'loaded:v1', steps })).reason).toBeUndefined();
  expect((await skerry(['image', 'save', 'configured', '-o', at('configured.tar')])).code).toBe(0);
  const { config } = readSaved(at('configured.tar'));
  const Env = ['PATH=/bin', 'COLOUR=blue'];
  expect(config.config).toEqual({ Env, User: 'worker', WorkingDir: '/opt/app' });
  const load = ['image', 'load', '--name', 'configured-again', at('configured.tar')];
  expect((await skerry(load)).code).toBe(0);
  const child = { fromTemplate: 'configured-again', steps: [{ type: 'RUN', args: ['echo "$PWD" > seen'] }] };
  expect((await build('configured-child', child)).reason).toBeUndefined();
  await using sandbox = await Sandbox.create({ ...stack.connection, template: 'configured-child' });
  const command = 'cat /opt/app/seen; pwd; stat -c %U seen; echo $COLOUR-$TOKEN-';
  expect((await sandbox.commands.run(command)).stdout).toBe('/opt/app\n/opt/app\nworker\nblue--\n');
});

it('is one of several by its name, without which it is refused with the names', async () => {
  writeFileSync(at('several.tar'), await makeDockerArchive('red', 'green'));
  const unnamed = await skerry(['image', 'load', '--name', 'unnamed', at('several.tar')]);
  expect(unnamed).toMatchObject({ code: 1, stdout: '' });
  expect(unnamed.stderr).toContain('several images, choose one: red:v1, green:v1');
  const named = ['--image', 'docker.io/library/green:v1', '--name', 'green', '-q'];
  expect(await skerry(['image', 'load', ...named, at('several.tar')])).toMatchObject({ stdout: 'green\n' });
  expect(await readAll('green')).toMatch(/^green\n/);
});

it('is refused with the reason', async () => {
  writeFileSync(at('no.tar'), 'no archive'.repeat(1000));
  const damaged = await skerry(['image', 'load', '--name', 'damaged', at('no.tar')]);
  expect(damaged).toMatchObject({ code: 1, stdout: '' });
  expect(damaged.stderr).toContain('no tar archive');
  for (const [argv, message] of [
    [['load', '--name', 'base', at('no.tar')], 'not built'],
    [['load', '--name', 'x', '--cpu', '3', at('no.tar')], 'cpuCount'],
    [['load', '--name', 'x', at('none')], 'no file'],
    [['save', 'nothing', '-o', at('x')], 'was not found'],
    [['save', 'loaded', '--json', '-o', '-'], 'does not go with'],
  ] as const) {
    const ended = await skerry(['image', ...argv]);
    expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining(message)]);
  }
  expect(readdirSync(scratch)).not.toContain('x');
  const sandbox = await Sandbox.create(stack.connection);
  const { snapshotId } = await sandbox.createSnapshot({ memory: false, name: 'captured' });
  await expect(templates.save(snapshotId, stack.connection)).rejects.toMatchObject({
    code: 'invalid_argument',
  });
  await sandbox.kill();
  const stranger = { ...stack.connection, apiKey: 'e2b_00' };
  await expect(templates.save('loaded', stranger)).rejects.toMatchObject({ code: 'unauthenticated' });
  const body = new Blob(['x']);
  await expect(templates.load('x', body, stranger).result()).rejects.toMatchObject({
    code: 'unauthenticated',
  });
  expect(readdirSync(join(dataDir, 'imports'))).toEqual([]);
});

it('is part of what the server keeps, which is shown and pruned', async () => {
  const usage = async () => {
    const all = await storage.usage(stack.connection);
    return Object.fromEntries(all.map((one) => [one.kind, one])) as Record<StorageKind, StorageUsage>;
  };
  const names = async (): Promise<string[]> =>
    (await templates.list(stack.connection)).flatMap(({ aliases }) => aliases).toSorted();
  const sandbox = await Sandbox.create({ ...stack.connection, template: 'third' });
  const before = await usage();
  const images = readdirSync(join(dataDir, 'templates')).length;
  expect(before.templates.count).toBe(images);
  expect(before.templates.reclaimableCount).toBe(images - 1);
  expect(before.sandboxes).toMatchObject({ count: 1, sizeBytes: expect.any(Number), reclaimableCount: 0 });
  expect(before.snapshots).toMatchObject({ count: 1, reclaimableCount: 0 });
  expect(before.baseImages.sizeBytes).toBeGreaterThan(0);
  // A client may still read the log of the build that failed.
  expect(before.buildLogs).toMatchObject({ count: expect.any(Number), reclaimableCount: 0 });
  const table = (await skerry(['system', 'df'])).stdout;
  expect(table).toMatch(/^KIND +COUNT +SIZE +RECLAIMABLE\n/);
  expect(table).toMatch(/^templates +\d+ +[\d.]+ MiB +[\d.]+ MiB \(\d+\)$/m);
  expect((await skerry(['system', 'df', '--json'])).stdout.split('\n')).toHaveLength(9);
  expect(Number((await skerry(['system', 'df', '-q'])).stdout)).toBeGreaterThan(before.baseImages.sizeBytes);

  const unasked = await skerry(['system', 'prune']);
  expect([unasked.code, unasked.stderr]).toEqual([1, expect.stringContaining('--force')]);
  const kept = await names();
  expect(await skerry(['system', 'prune', '--force', '-q'])).toMatchObject({ code: 0, stdout: '' });
  expect(await names()).toEqual(kept);
  const pruned = await skerry(['system', 'prune', '--all', '--force', '--json']);
  expect(JSON.parse(pruned.stdout)).toEqual({
    templates: expect.arrayContaining(['again', 'loaded']),
    removed: expect.arrayContaining([
      { kind: 'templates', count: images - 1, sizeBytes: before.templates.reclaimableBytes },
    ]),
  });
  expect(await names()).toEqual(['base', 'third']);
  expect(readdirSync(join(dataDir, 'templates'))).toHaveLength(1);
  expect((await sandbox.commands.run('echo $COLOUR')).stdout).toBe('blue\n');
  expect((await Sandbox.create({ ...stack.connection, template: 'captured' })).sandboxId).toMatch(/^i/);
  await sandbox.kill();
});

it('is not written of files whose holes take more than an image may have', async () => {
  const steps = [{ type: 'RUN', args: ['truncate -s 20G sparse'] }];
  expect((await build('sparse', { fromTemplate: 'base', steps })).reason).toBeUndefined();
  const ended = await skerry(['image', 'save', 'sparse', '-o', at('sparse.tar')]);
  expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('an image at most 17179869184')]);
  expect(readdirSync(scratch)).not.toContain('sparse.tar');
});
