import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { components } from '@skerry/platform-client';
import { Sandbox, type StorageKind, type StorageUsage, storage } from '@skerry/sdk';
import { buildCache } from '@skerry/sdk/template';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive, toFilesHash } from './archive.ts';
import { createBuildClient } from './build-client.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';
import { createTemplateBuilds, messagesOf } from './template-builds.ts';

type Build = components['schemas']['BuildInfo'];

let stack: Stack;
let registry: DebianRegistry;
const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'id', 'chown', 'mkdir', 'sleep', 'test']);
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-build-cache-'));

const start = async (...args: string[]): Promise<void> => {
  stack = await startStack({ dataDir, args: ['--registry', registry.host, ...args] });
};
beforeAll(async () => {
  registry = await startDebianRegistry();
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
  await start();
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, dataDir]) rmSync(folder, { recursive: true, force: true });
});

const builds = createTemplateBuilds(() => stack);
const run = (command: string, more: object = {}) => ({ type: 'RUN', args: [command], ...more });
const build = (name: string, steps: object[], more: object = {}): Promise<Build> =>
  builds.build(name, { fromImage: `${registry.host}/test/busybox`, steps, ...more });
/** Which steps an entry says were taken from the cache, `base` for the image. */
const readCached = ({ logEntries }: Build): (string | undefined)[] =>
  logEntries.filter(({ message }) => message.startsWith('CACHED ')).map(({ step }) => step);
const list = (folder: string): string[] => readdirSync(join(dataDir, folder)).toSorted();
const listKept = () => buildCache.list(stack.connection);
const read = async (template: string, command: string): Promise<string> => {
  const sandbox = await Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
  try {
    return (await sandbox.commands.run(command, { user: 'root' })).stdout;
  } finally {
    await sandbox.kill();
  }
};

describe('the cache of builds', () => {
  const upload = async (text: string): Promise<object> => {
    const client = createBuildClient(stack);
    const { templateID } = await client.register('uploads');
    const filesHash = toFilesHash(text);
    await client.upload(templateID, filesHash, await makeArchive([{ name: 'file', content: text }]));
    return { type: 'COPY', args: ['file', './', '', ''], filesHash };
  };

  it('answers an equal build without a sandbox, and for a different build answers the steps before the first that differs', async () => {
    const toSteps = async (text: string): Promise<object[]> => [
      { type: 'ENV', args: ['TOKEN', 'a-value-that-stays-secret'] },
      run('echo made of $TOKEN > made; echo step two runs'),
      { type: 'WORKDIR', args: ['app'] },
      await upload(text),
      run('cat file > copy; id -un > user; echo step five runs'),
      { type: 'USER', args: ['root'] },
    ];
    const first = await build('first', await toSteps('one'));
    expect(first.reason).toBeUndefined();
    expect(readCached(first)).toEqual([]);
    expect(messagesOf(first)).toContainEqual(
      expect.stringMatching(/^not CACHED [0-9a-f]{32}: no result of it/),
    );
    const images = list('templates');
    const again = await build('again', await toSteps('one'));
    expect(readCached(again)).toEqual(['base', '1', '2', '3', '4', '5', '6']);
    expect(messagesOf(again)).not.toContain('step two runs');
    expect(list('templates')).toEqual(images);
    const changed = await build('changed', await toSteps('two'));
    // A step that only prepares the next one has no result of its own.
    expect(readCached(changed)).toEqual(['base', '1', '2']);
    expect(messagesOf(changed)).toContain('step five runs');
    expect(messagesOf(changed)).toContainEqual(
      expect.stringMatching(/^not CACHED [0-9a-f]{32}: step 4 runs before it$/),
    );
    const show = 'cat /home/user/made; cd /home/user/app; cat file copy user; echo';
    expect(await read('again', show)).toBe('made of a-value-that-stays-secret\noneoneuser\n\n');
    expect(await read('changed', show)).toBe('made of a-value-that-stays-secret\ntwotwouser\n\n');
    for (const name of list('.').filter((file) => file.startsWith('skerry.db')))
      expect(readFileSync(join(dataDir, name)).includes('stays-secret')).toBe(false);
    // The images stay for later builds when their templates go.
    for (const templateID of ['first', 'again'])
      await stack.api.DELETE('/templates/{templateID}', { params: { path: { templateID } } });
    expect(readCached(await build('later', await toSteps('one')))).toContain('6');
  });

  it('is not asked for what is forced, whose results replace the earlier ones', async () => {
    const toSteps = (more: object = {}): object[] => [
      run('echo 1 of forced'),
      run('echo 2 of forced; cat /proc/sys/kernel/random/uuid > id', more),
      run('echo 3 of forced; cat id > same'),
      run('true'),
    ];
    await build('forced', toSteps());
    const before = await read('forced', 'cat /home/user/same');
    const step = await build('forced', toSteps({ force: true }));
    expect(readCached(step)).toEqual(['base', '1']);
    expect(messagesOf(step)).toEqual(
      expect.arrayContaining(['3 of forced', expect.stringMatching(/^not CACHED \S+: the step is forced$/)]),
    );
    const after = await read('forced', 'cat /home/user/same');
    expect(after).not.toBe(before);
    expect(readCached(await build('forced', toSteps()))).toEqual(['base', '1', '2', '3', '4']);
    expect(await read('forced', 'cat /home/user/same')).toBe(after);
    const whole = await build('forced', toSteps(), { force: true });
    expect(readCached(whole)).toEqual([]);
    expect(messagesOf(whole)).toContain('1 of forced');
  });

  it('has of a build that fails the steps before the one that failed', async () => {
    const steps = [run('echo good'), run('echo bad; exit 3'), run('echo never')];
    const failures = [await build('failing', steps), await build('failing', steps)] as const;
    expect(failures.map(({ reason }) => reason?.step)).toEqual(['2', '2']);
    expect(readCached(failures[1])).toEqual(['base', '1']);
    expect(messagesOf(...failures).filter((message) => message === 'bad')).toHaveLength(2);
    expect((await build('failing', [run('echo good'), run('echo well')])).status).toBe('ready');
  });

  it('has equal builds at the same time do their work once, also when the first of them fails', async () => {
    const steps = [run('echo begin of both'), run('sleep 1; echo end of both')];
    const both = await Promise.all(['one', 'two'].map((name) => build(name, steps)));
    expect(both.map(({ status }) => status)).toEqual(['ready', 'ready']);
    for (const line of ['begin of both', 'end of both'])
      expect(messagesOf(...both).filter((message) => message === line)).toHaveLength(1);
    const fails = [run('echo shared'), run('exit 3')];
    const other = [run('echo shared'), run('echo other')];
    const ends = await Promise.all([build('one', fails), build('two', other), build('three', fails)]);
    expect(ends.map(({ status }) => status)).toEqual(['error', 'ready', 'error']);
    expect(messagesOf(...ends).filter((message) => message === 'shared')).toHaveLength(1);
  });
});

describe('layers of images', () => {
  it('are requested once for all images that have them, again when the disk has damaged them, and listed', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'skerry-shared-layer-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const shared = join(folder, 'layer');
    await promisify(execFile)('tar', ['-C', busybox, '-czf', shared, '.']);
    const digest = `sha256:${createHash('sha256').update(readFileSync(shared)).digest('hex')}`;
    const countRequests = (): number =>
      registry
        .readRequests()
        .filter((request) => /^GET .*\/blobs\//.test(request) && request.endsWith(digest)).length;
    const buildFrom = async (name: string): Promise<Build> => {
      // The config of each name differs, and so does its manifest.
      const env = ['PATH=/bin', `IMAGE=${name}`];
      await registry.pushLayers(`test/${name}`, { paths: [shared], compression: 'gzip', env });
      const fromImage = `${registry.host}/test/${name}`;
      const built = await build(name, [run(`echo step of ${name}`)], { fromImage });
      expect(messagesOf(built)).toContain(`step of ${name}`);
      return built;
    };
    expect((await buildFrom('one-image')).status).toBe('ready');
    expect(countRequests()).toBe(1);
    const second = await buildFrom('another-image');
    expect(countRequests()).toBe(1);
    expect(messagesOf(second)).toContainEqual(
      expect.stringMatching(/^unpacking layer 1 of 1, .*, which an earlier pull has kept$/),
    );
    const file = join(dataDir, 'layers', `${digest.replace(':', '-')}.layer`);
    writeFileSync(file, readFileSync(file).fill(0, 1_000, 2_000));
    const third = await buildFrom('third-image');
    expect(countRequests()).toBe(2);
    expect(messagesOf(third)).toContain(
      `the layer ${digest} was damaged on the disk of the server, and is requested again`,
    );
    expect(readFileSync(file)).toEqual(readFileSync(shared));
    const kept = (await listKept()).find(({ description }) => description === `layer ${digest}`);
    expect(kept?.sizeBytes).toBe(statSync(file).blocks * 512);
    expect(await buildCache.remove(kept?.key ?? '', stack.connection)).toBe(true);
    expect(existsSync(file)).toBe(false);
  });
});

describe('skerry template cache', () => {
  const skerry = (...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
    promisify(execFile)(process.execPath, [
      ...[skerryProgram, 'template', 'cache', argv[0] ?? '', '--data', dataDir],
      ...argv.slice(1),
    ]).then(
      (ended) => ({ code: 0, ...ended }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    );

  it('lists the results, which survive the server, and removes one with all that follow', async () => {
    const steps = [run('echo first > a'), run('echo second > b'), run('echo third > c')];
    await build('listed', steps);
    await stack.kill();
    await start();
    const { stdout: table } = await skerry('ls');
    expect(table).toMatch(/^KEY +SIZE +USED +STEP\n/);
    const line = table.split('\n').find((one) => one.endsWith('RUN echo second > b'));
    expect(line).toMatch(/^[0-9a-f]{32} +\d+\.\d MiB +\d+s +RUN/);
    const key = line?.split(' ')[0] ?? '';
    expect((await skerry('ls', '-q')).stdout).toContain(`${key}\n`);
    expect(readCached(await build('listed', steps))).toEqual(['base', '1', '2', '3']);
    const snapshots = list('snapshots').length;
    expect(await skerry('rm', key)).toMatchObject({ code: 0, stdout: '' });
    expect(list('snapshots')).toHaveLength(snapshots - 1);
    expect(await skerry('rm', key)).toMatchObject({ code: 1, stderr: `skerry: no result ${key}\n` });
    expect(readCached(await build('listed', steps))).toEqual(['base', '1']);
  });

  it('has nothing of a build that a killed server was at, and prunes all without a change of templates', async () => {
    const registered = await builds.register('killed');
    const steps = [run('echo kept > a'), run('echo begun; sleep 600')];
    await builds.start(registered, { fromImage: `${registry.host}/test/busybox`, steps });
    await expect.poll(async () => messagesOf(await builds.readStatus(registered))).toContain('begun');
    await stack.kill();
    await start();
    const kept = await listKept();
    expect(kept.map(({ description }) => description)).toContain('RUN echo kept > a');
    expect(kept.map(({ description }) => description)).not.toContain('RUN echo begun; sleep 600');
    const { stdout } = await skerry('prune', '--unused-for', '1h');
    expect(stdout).toBe('KEY  SIZE  USED  STEP\n');
    const pruned = (await skerry('prune', '--json')).stdout.trim().split('\n');
    expect(new Set(pruned.map((text) => JSON.parse(text).key))).toEqual(new Set(kept.map(({ key }) => key)));
    expect(await listKept()).toEqual([]);
    expect(list('snapshots')).toEqual([]);
    expect(await read('listed', 'cat /home/user/c')).toBe('third\n');
    expect(readCached(await build('killed', [run('echo kept > a')]))).toEqual([]);
    const { response } = await stack.api.DELETE('/skerry/v1/build-cache/{key}', {
      params: { path: { key: 'no key' } },
    });
    expect(response.status).toBe(400);
    expect((await fetch(`${stack.address.apiUrl}/skerry/v1/build-cache`)).status).toBe(401);
  });
});

describe('what the server keeps', () => {
  it('has the cache as a kind of its own, which a prune of all clears before the templates', async () => {
    const usage = async () => {
      const all = await storage.usage(stack.connection);
      return Object.fromEntries(all.map((one) => [one.kind, one])) as Record<StorageKind, StorageUsage>;
    };
    const toRemoval = ({ kind, count, sizeBytes }: StorageUsage) => ({ kind, count, sizeBytes });
    expect(await build('counted', [run('echo one > counted'), run('echo two >> counted')])).toMatchObject({
      status: 'ready',
    });
    const built = await usage();
    // The image that builds begin with, and the files of the first step.
    expect(built.buildCache.count).toBeGreaterThanOrEqual(2);
    expect(built.buildCache.sizeBytes).toBeGreaterThan(0);
    await stack.api.DELETE('/templates/{templateID}', { params: { path: { templateID: 'counted' } } });
    const before = await usage();
    expect(before.buildCache.count).toBe(built.buildCache.count + 1);
    expect(before.buildCache.reclaimableCount).toBe(before.buildCache.count);
    expect(before.buildCache.reclaimableBytes).toBe(before.buildCache.sizeBytes);
    expect(before.templates.count).toBe(built.templates.count - 1);
    expect(before.templates.reclaimableCount).toBe(before.templates.count);
    expect(before.templates.count + before.snapshots.count + before.buildCache.count).toBe(
      [...list('templates'), ...list('snapshots'), ...list('layers')].length,
    );
    const df = await promisify(execFile)(process.execPath, [
      skerryProgram,
      'system',
      'df',
      '--data',
      dataDir,
    ]);
    expect(df.stdout).toMatch(/^build cache +\d+ +[\d.]+ MiB +[\d.]+ MiB \(\d+\)$/m);

    const { removed } = await storage.prune(stack.connection);
    expect(removed.filter(({ kind }) => ['templates', 'buildCache', 'snapshots'].includes(kind))).toEqual([]);
    const pruned = await storage.prune({ ...stack.connection, all: true });
    expect(pruned.templates).toContain('listed');
    expect(pruned.removed).toEqual(
      expect.arrayContaining([toRemoval(before.templates), toRemoval(before.buildCache)]),
    );
    expect(await listKept()).toEqual([]);
    expect([...list('templates'), ...list('snapshots'), ...list('layers')]).toEqual([]);
  });

  it('has one bound for the results of builds and the layers of their images', async () => {
    expect(await build('bounded', [run('echo kept')])).toMatchObject({ status: 'ready' });
    expect(list('layers')).toHaveLength(1);
    await stack.kill();
    await start('--build-cache', '1');
    await expect.poll(listKept).toEqual([]);
    expect(list('layers')).toEqual([]);
    expect(await read('bounded', 'echo runs')).toBe('runs\n');
  });
});
