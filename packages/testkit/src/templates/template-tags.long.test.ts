import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';
import { createTemplateBuilds } from './template-builds.ts';

let stack: Stack;
let registry: DebianRegistry;
let busybox: string;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-tags-'));
const { register, start, readStatus, waitForEnd, build } = createTemplateBuilds(() => stack);

beforeAll(async () => {
  registry = await startDebianRegistry();
  busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'id', 'chown', 'mkdir']);
  await registry.push('test/busybox', { folder: busybox });
  // The cache would keep the images of builds that are gone.
  stack = await startStack({ dataDir, args: ['--registry', registry.host, '--build-cache', '0'] });
  for (const version of ['v1', 'v2'])
    expect(await build(`app:${version}`, writing(version))).toMatchObject({ status: 'ready' });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, dataDir]) rmSync(folder, { recursive: true, force: true });
});

const writing = (text: string) => ({
  fromImage: `${registry.host}/test/busybox`,
  steps: [{ type: 'RUN', args: [`echo ${text} > version`] }],
});
const assign = (target: string, tags: string[]) =>
  stack.api.POST('/templates/tags', { body: { target, tags } });
const remove = async (name: string, tags: string[]): Promise<number> =>
  (await stack.api.DELETE('/templates/tags', { body: { name, tags } })).response.status;
const list = async (templateID: string) => {
  const { data = [] } = await stack.api.GET('/templates/{templateID}/tags', {
    params: { path: { templateID } },
  });
  return data;
};
const readVersion = async (template: string): Promise<string> => {
  const sandbox = await Sandbox.create({ ...stack.connection, template, timeoutMs: 60_000 });
  const version = await sandbox.files.read('/home/user/version');
  await sandbox.kill();
  return version.trim();
};

describe('a tag of a template', () => {
  it('points to the build of its last assignment', async () => {
    const before = new Map((await list('app')).map(({ tag, buildID }) => [tag, buildID]));
    const { data, response } = await assign('app:v1', ['default', 'Stable']);
    expect(response.status).toBe(201);
    expect(data).toEqual({ tags: ['default', 'stable'], buildID: before.get('v1') });
    expect([await readVersion('app'), await readVersion('app:stable')]).toEqual(['v1', 'v1']);
    await assign('app:v2', ['stable']);
    expect([await readVersion('app'), await readVersion('local/app:stable')]).toEqual(['v1', 'v2']);
    expect((await list('app')).map(({ tag, buildID }) => [tag, buildID])).toEqual([
      ['default', before.get('v1')],
      ['stable', before.get('v2')],
      ['v1', before.get('v1')],
      ['v2', before.get('v2')],
    ]);
  });

  it('stays where it was assigned when a build that was registered before ends after', async () => {
    const registered = await register('app:moved');
    await assign('app:v1', ['moved']);
    await start(registered, writing('later'));
    expect(await waitForEnd(registered)).toMatchObject({ status: 'ready' });
    expect(await readVersion('app:moved')).toBe('v1');
  });

  it('is deleted, and its build with it when no other points there, but never "default"', async () => {
    const images = () => readdirSync(join(dataDir, 'templates')).length;
    await build('app:only', writing('only'));
    await expect.poll(images).toBe(3);
    expect(await remove('app', ['only', 'none'])).toBe(404);
    expect(await readVersion('app:only')).toBe('only');
    expect(await remove('app', ['only'])).toBe(204);
    await expect.poll(images).toBe(2);
    expect(await remove('app', ['only'])).toBe(404);
    expect(await remove('app', ['default'])).toBe(400);
    expect(await remove('app', ['v1', 'default'])).toBe(400);
    expect(await readVersion('app:v1')).toBe('v1');
  });

  it('is refused when its name or its target cannot be, with the name of the field', async () => {
    const uuid = '0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10';
    for (const [target, tags, status, field] of [
      ['app:v1', [uuid], 400, /body\.tags\[0\]/],
      ['app:v1', ['a', 'b:c'], 400, /body\.tags\[1\]/],
      [':x', ['a'], 400, /body\.target/],
      ['app:', ['a'], 400, /body\.target/],
      ['base', ['a'], 400, /body\.target/],
      ['app:none', ['a'], 404, /app:none/],
      ['none', ['a'], 404, /none/],
      ['other/app:v1', ['a'], 404, /other/],
    ] as const) {
      const { error, response } = await assign(target, [...tags]);
      expect([target, response.status, error?.message]).toEqual([
        target,
        status,
        expect.stringMatching(field),
      ]);
    }
    expect([
      await remove('app:none', ['v1']),
      await remove('none', ['v1']),
      await remove('base', ['a']),
    ]).toEqual([404, 404, 400]);
    expect(await list('base')).toEqual([
      { tag: 'default', buildID: expect.any(String), createdAt: expect.any(String) },
    ]);
  });
});

describe('a template', () => {
  it('is shown with its builds in pages, newest first', async () => {
    const params = { path: { templateID: 'app' }, query: { limit: 1 } };
    const { data, response } = await stack.api.GET('/templates/{templateID}', { params });
    expect(data).toMatchObject({ names: ['local/app'], public: false, builds: [{ status: 'ready' }] });
    const nextToken = response.headers.get('X-Next-Token') ?? '';
    const next = await stack.api.GET('/templates/{templateID}', {
      params: { path: params.path, query: { limit: 100, nextToken } },
    });
    const ids = [data, next.data].flatMap((page) => page?.builds ?? []).map(({ buildID }) => buildID);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThanOrEqual(3);
    const base = await stack.api.GET('/templates/{templateID}', { params: { path: { templateID: 'base' } } });
    expect(base.data?.builds).toMatchObject([{ status: 'ready' }]);
    const unknown = await stack.api.GET('/templates/{templateID}', {
      params: { path: { templateID: 'none' } },
    });
    expect(unknown.response.status).toBe(404);
  });

  it('is in a list of pages, newest first, and its build has a log in both directions', async () => {
    const page = async (query: object) => {
      const { data = [], response, error } = await stack.api.GET('/v2/templates', { params: { query } });
      return { data, error, status: response.status, nextToken: response.headers.get('X-Next-Token') };
    };
    const all = await page({ teamID: 'local' });
    expect([all.data.map(({ aliases }) => aliases), all.nextToken]).toEqual([[['app'], ['base']], null]);
    const first = await page({ limit: 1 });
    const second = await page({ limit: 1, nextToken: first.nextToken });
    expect([...first.data, ...second.data]).toEqual(all.data);
    expect(second.nextToken).toBeNull();
    const whole = (teamID: string) => stack.api.GET('/templates', { params: { query: { teamID } } });
    expect((await whole('local')).data).toEqual(all.data);
    expect((await whole('other')).error).toMatchObject({
      code: 400,
      message: expect.stringContaining('query.teamID'),
    });
    expect([(await page({ teamID: 'other' })).status, (await page({ nextToken: 'x' })).status]).toEqual([
      ...[400, 400],
    ]);

    const { templateID, buildID } = await build('app:logged', writing('logged'));
    const logs = async (query: object, template = templateID) => {
      const { data, response, error } = await stack.api.GET('/templates/{templateID}/builds/{buildID}/logs', {
        params: { path: { templateID: template, buildID }, query },
      });
      return { logs: data?.logs ?? [], status: response.status, message: error?.message };
    };
    const { logEntries } = await readStatus({ templateID, buildID });
    expect(logEntries.length).toBeGreaterThan(2);
    const { logs: forward } = await logs({ direction: 'forward', source: 'persistent' });
    expect(forward).toEqual(logEntries);
    expect((await logs({})).logs).toEqual(logEntries.toReversed());
    // Those of one millisecond are not separated.
    const isOfLast = ({ timestamp }: { timestamp: string }) => timestamp === logEntries.at(-1)?.timestamp;
    expect((await logs({ limit: 1 })).logs).toEqual(logEntries.filter(isOfLast).toReversed());
    const cursor = Date.parse(logEntries[1]?.timestamp ?? '');
    const isFrom = ({ timestamp }: { timestamp: string }) => Date.parse(timestamp) >= cursor;
    expect((await logs({ direction: 'forward', cursor })).logs).toEqual(logEntries.filter(isFrom));
    expect((await logs({ level: 'error' })).logs).toEqual([]);
    expect(await logs({ source: 'temporary' })).toMatchObject({
      ...{ status: 400, message: expect.stringContaining('query.source') },
    });
  });

  it('is found for its builds by id, name and namespace, and by a tag that exists', async () => {
    const [{ buildID } = { buildID: '' }] = await list('app');
    const ask = async (templateID: string): Promise<number> => {
      const params = { path: { templateID, buildID } };
      return (await stack.api.GET('/templates/{templateID}/builds/{buildID}/status', { params })).response
        .status;
    };
    const names = ['app', 'local/app', 'other/app', 'base', 'app:v1', 'app:none'];
    expect(await Promise.all(names.map(ask))).toEqual([200, 200, 404, 404, 200, 404]);
    expect((await start({ templateID: 'other/app', buildID }, writing('no'))).response.status).toBe(404);
  });

  it('is made public and private, which every reply tells', async () => {
    const params = { path: { templateID: 'app' } };
    const changed = await stack.api.PATCH('/v2/templates/{templateID}', { params, body: { public: true } });
    expect(changed.data).toEqual({ names: ['local/app'] });
    const alias = async () =>
      (await stack.api.GET('/templates/aliases/{alias}', { params: { path: { alias: 'app' } } })).data;
    expect(await alias()).toMatchObject({ public: true });
    expect(await register('app')).toMatchObject({ public: true });
    const listed = await stack.api.GET('/templates');
    expect(listed.data?.find(({ aliases }) => aliases.includes('app'))).toMatchObject({ public: true });
    const same = await stack.api.PATCH('/templates/{templateID}', { params, body: {} });
    expect([same.response.status, same.data]).toEqual([200, {}]);
    expect(await alias()).toMatchObject({ public: true });
    await stack.api.PATCH('/templates/{templateID}', { params, body: { public: false } });
    expect(await alias()).toMatchObject({ public: false });
    const missing = { params: { path: { templateID: 'none' } }, body: { public: true } };
    expect((await stack.api.PATCH('/v2/templates/{templateID}', missing)).response.status).toBe(404);
  });
});
