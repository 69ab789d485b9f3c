import { Sandbox, snapshots } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

const create = async (template = 'base'): Promise<Sandbox> =>
  Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
const capture = (sandbox: Sandbox, name?: string) => sandbox.createSnapshot({ memory: false, name });
const snapshot = (
  sandboxID: string,
  body: { name?: string; memory?: boolean; mode?: 'full' | 'filesystem' },
) => stack.api.POST('/sandboxes/{sandboxID}/snapshots', { params: { path: { sandboxID } }, body });
const list = async (
  query: { sandboxID?: string; name?: string; limit?: number; nextToken?: string } = {},
) => {
  const { data, response } = await stack.api.GET('/snapshots', { params: { query } });
  return { items: data ?? [], status: response.status, next: response.headers.get('x-next-token') };
};
const remove = (templateID: string) =>
  stack.api.DELETE('/templates/{templateID}', { params: { path: { templateID } } });
const run = async (sandbox: Sandbox, script: string): Promise<string> =>
  (await sandbox.commands.run(script, { user: 'root' })).stdout;
const end = async (...ended: { kill(): Promise<unknown> }[]): Promise<void> => {
  await Promise.all(ended.map((one) => one.kill()));
};

describe('a snapshot of the files', () => {
  it('begins others with what there was, while its sandbox and they go their own ways', async () => {
    const source = await create();
    await source.files.write('/home/user/file', 'before');
    const pid = (await source.commands.run('sleep 1000', { background: true, timeoutMs: 0 })).pid;
    const made = await capture(source);
    expect(made).toEqual({ snapshotId: expect.stringMatching(/^[a-z0-9]{20}:default$/), names: [] });
    await source.files.write('/home/user/file', 'after');
    const copies = await Promise.all([create(made.snapshotId), create(made.snapshotId)]);
    const ids = new Set([source, ...copies].map(({ sandboxId }) => sandboxId));
    expect(ids.size).toBe(3);
    for (const copy of copies) {
      expect(await copy.files.read('/home/user/file')).toBe('before');
      expect(`${copy.templateId}:default`).toBe(made.snapshotId);
      expect(await copy.commands.list()).toEqual([]);
      expect(await run(copy, 'echo $E2B_SANDBOX_ID')).toBe(`${copy.sandboxId}\n`);
      await copy.files.write('/home/user/file', copy.sandboxId);
    }
    expect(await Promise.all(copies.map((copy) => copy.files.read('/home/user/file')))).toEqual(
      copies.map(({ sandboxId }) => sandboxId),
    );
    expect(await source.files.read('/home/user/file')).toBe('after');
    expect((await source.commands.list()).map((command) => command.pid)).toEqual([pid]);
    await end(source);
    const later = await create(made.snapshotId);
    expect(await later.files.read('/home/user/file')).toBe('before');
    await end(later, ...copies);
    expect(await snapshots.delete(made.snapshotId, stack.connection)).toBe(true);
  });

  it('can be made of a sandbox that began with one, and of a paused one, which stays paused', async () => {
    const first = await create();
    await first.files.write('/home/user/1', '1');
    const second = await create((await capture(first)).snapshotId);
    await second.files.write('/home/user/2', '2');
    await second.pause({ memory: false });
    const { snapshotId } = await capture(second);
    expect((await second.getInfo()).state).toBe('paused');
    const third = await create(snapshotId);
    expect(await run(third, 'cat /home/user/1 /home/user/2')).toBe('12');
    await end(first, second, third);
  });

  it('is reached by name on the first and the second route of create', async () => {
    const source = await create();
    await capture(source, 'by-route');
    for (const [path, templateID] of [
      ['/sandboxes', 'by-route'],
      ['/v2/sandboxes', 'local/by-route:default'],
      ['/v2/sandboxes', ' By-Route '],
    ] as const) {
      const { data, response } = await stack.api.POST(path, { body: { templateID } });
      expect([path, response.status, data?.alias]).toEqual([path, 201, 'by-route']);
      await Sandbox.kill(data?.sandboxID ?? '', stack.connection);
    }
    for (const templateID of ['other/by-route', 'by-route:v2', 'local/none', 'none:default']) {
      const { response } = await stack.api.POST('/v2/sandboxes', { body: { templateID } });
      expect([templateID, response.status]).toEqual([templateID, 404]);
    }
    await end(source);
  });

  it('adds to a name that was used before, and the tag leads to the latest', async () => {
    const source = await create();
    await source.files.write('/home/user/version', '1');
    const first = await capture(source, 'versions');
    expect(first).toEqual({
      snapshotId: 'local/versions:default',
      names: ['local/versions:default'],
    });
    const old = await create('versions');
    await source.files.write('/home/user/version', '2');
    expect(await capture(source, 'local/Versions:v2')).toEqual({
      snapshotId: 'local/versions:v2',
      names: ['local/versions:v2'],
    });
    await source.files.write('/home/user/version', '3');
    expect(await capture(source, 'versions')).toEqual(first);
    const made = await Promise.all(['versions', 'versions:v2'].map(create));
    expect(new Set([old, ...made].map(({ templateId }) => templateId)).size).toBe(1);
    const found = await Promise.all([old, ...made].map((one) => one.files.read('/home/user/version')));
    expect(found).toEqual(['1', '3', '2']);
    const named = async (name: string) =>
      (await list({ name })).items.map(({ snapshotID, names }) => [snapshotID, ...names]);
    expect(await named('versions')).toEqual([['local/versions:default', 'local/versions:default']]);
    expect(await named('local/versions:v2')).toEqual([['local/versions:v2', 'local/versions:v2']]);
    await end(source, old, ...made);
  });

  it('is listed newest first, page by page, and by sandbox and name', async () => {
    const [one, other] = await Promise.all([create(), create()]);
    const made: string[] = [];
    for (const sandbox of [one, other, one]) made.unshift((await capture(sandbox)).snapshotId);
    const seen: string[] = [];
    for (let next: string | undefined, round = 0; round === 0 || next !== undefined; round += 1) {
      const page = await list({ limit: 2, ...(next !== undefined && { nextToken: next }) });
      expect(page.items.length).toBeGreaterThan(0);
      seen.push(...page.items.map(({ snapshotID }) => snapshotID));
      next = page.next ?? undefined;
    }
    expect(seen.slice(0, 3)).toEqual(made);
    expect(new Set(seen).size).toBe(seen.length);
    const ofOne = (await list({ sandboxID: one.sandboxId })).items.map(({ snapshotID }) => snapshotID);
    expect(ofOne).toEqual([made[0], made[2]]);
    const paged: string[] = [];
    for await (const { snapshotId } of one.listSnapshots({ limit: 1 })) paged.push(snapshotId);
    expect(paged).toEqual(ofOne);
    expect((await list({ name: made[1] ?? '' })).items).toEqual([{ snapshotID: made[1], names: [] }]);
    expect((await list({ name: 'none' })).items).toEqual([]);
    expect((await list({ sandboxID: 'inone' })).items).toEqual([]);
    for (const filter of [{}, { name: 'none' }, { sandboxID: 'inone' }])
      expect((await list({ ...filter, nextToken: 'x' })).status).toBe(400);
    await end(one, other);
  });

  it('is deleted by its id, unless sandboxes that began with it run or are paused', async () => {
    const source = await create();
    const { snapshotId } = await capture(source, 'deleted:v1');
    expect(snapshotId).toBe('local/deleted:v1');
    const user = await create(snapshotId);
    for (const state of ['running', 'paused']) {
      expect((await user.getInfo()).state).toBe(state);
      const { error } = await remove(snapshotId);
      expect(error).toMatchObject({ code: 400, message: expect.stringContaining('running or paused') });
      if (state === 'running') await user.pause({ memory: false });
    }
    await end(user);
    expect((await remove(snapshotId)).response.status).toBe(204);
    expect((await remove(snapshotId)).error).toMatchObject({ code: 404 });
    expect(await snapshots.delete(snapshotId, stack.connection)).toBe(false);
    await expect(create(snapshotId)).rejects.toMatchObject({ code: 'not_found' });
    expect((await list({ name: 'deleted' })).items).toEqual([]);
    await end(source);
  });

  it('is deleted with all its tags by the name alone, and then the name is free', async () => {
    const source = await create();
    for (const name of ['whole:a', 'whole:b']) await capture(source, name);
    expect((await remove('whole')).response.status).toBe(204);
    expect((await list({ name: 'whole' })).items).toEqual([]);
    expect((await capture(source, 'whole:c')).snapshotId).toBe('local/whole:c');
    await end(source);
  });

  it.each<[string, { name?: string; memory?: boolean; mode?: 'full' | 'filesystem' }, RegExp]>([
    ['another namespace', { name: 'other/x', memory: false }, /body\.name/],
    ['a name of other letters', { name: 'a b', memory: false }, /body\.name/],
    ['an empty tag', { name: 'a:', memory: false }, /body\.name/],
    ['no name before the tag', { name: ':a', memory: false }, /body\.name/],
    ['a UUID as the tag', { name: 'a:0b1d3f7c-9a52-4d2e-8f11-6d6f0f1e2a3b', memory: false }, /body\.name/],
    ['the name of the base template', { name: 'base', memory: false }, /body\.name/],
    ['a contradiction', { memory: true, mode: 'filesystem' }, /body\.memory/],
  ])('is refused with 400 for %s', async (_what, body, message) => {
    const source = await stack.createSandbox();
    const { error } = await snapshot(source.sandboxId, body);
    expect(error).toMatchObject({ code: 400, message: expect.stringMatching(message) });
    await end(source);
  });

  it('takes the other spelling of files only', async () => {
    const source = await stack.createSandbox();
    expect((await snapshot(source.sandboxId, { mode: 'filesystem' })).response.status).toBe(201);
    await end(source);
  });

  it('is 404 for a sandbox that is not there, and the base template cannot be deleted', async () => {
    expect((await snapshot('inone', { memory: false })).error).toMatchObject({ code: 404 });
    expect((await remove('base')).error).toMatchObject({ code: 400 });
    expect((await remove('none:default')).error).toMatchObject({ code: 404 });
    expect((await remove('a b')).error).toMatchObject({ code: 400 });
  });

  it('does not get in the way of another one, a pause, a kill or its end', async () => {
    const source = await create();
    await run(source, 'head -c 50000000 /dev/urandom > /root/large');
    let both: Promise<number>[] = [];
    const makeTwo = async (): Promise<number> => {
      both = [1, 2].map(() =>
        snapshot(source.sandboxId, { memory: false }).then(({ response }) => response.status),
      );
      const first = await Promise.race(both);
      if (first !== 409) await Promise.all(both);
      return first;
    };
    // The one that is refused shows that the other is under way, unless that is complete before the second call arrives.
    await expect.poll(makeTwo).toBe(409);
    await source.setTimeout(0);
    // Whichever of snapshot and end reaches the runtime first: a sandbox that has ended is not found.
    expect((await Promise.all(both)).toSorted((a, b) => a - b)).toEqual([expect.toBeOneOf([201, 404]), 409]);
    await expect.poll(() => source.isRunning()).toBe(false);
    await expect.poll(() => Sandbox.kill(source.sandboxId, stack.connection)).toBe(false);
  });
});

it('a snapshot of what was paused without its memory cannot have any, and never keeps less than was asked for', async () => {
  const source = await create();
  await source.pause({ memory: false });
  const { response, error } = await snapshot(source.sandboxId, {});
  expect([response.status, error?.message]).toEqual([400, expect.stringContaining('body.memory')]);
  await end(source);
});
