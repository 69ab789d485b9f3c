import { createPlatformClient } from '@skerry/platform-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServedPlatform, servePlatform } from '../../testing/serve-platform.ts';

let served: ServedPlatform;
let shop: Client;
let blog: Client;
const clientOf = (apiKey = served.apiKey) => createPlatformClient({ baseUrl: served.baseUrl, apiKey });
type Client = ReturnType<typeof clientOf>;
const createKey = async (project: string, readOnly = false) =>
  (await clientOf().POST('/api-keys', { body: { name: project, project, readOnly } })).data?.key;
beforeAll(async () => {
  served = await servePlatform();
  [shop, blog] = [clientOf(await createKey('shop')), clientOf(await createKey('blog'))];
});
afterAll(() => served.close());

const createSandbox = async (client: Client, templateID: string): Promise<string> => {
  const { data, error } = await client.POST('/v2/sandboxes', { body: { templateID } });
  if (data === undefined) throw new Error(error?.message);
  return data.sandboxID;
};
const capture = (client: Client, sandboxID: string, name: string) =>
  client.POST('/sandboxes/{sandboxID}/snapshots', {
    params: { path: { sandboxID } },
    body: { name, memory: false },
  });
const log = async (client: Client, snapshotID: string): Promise<string[]> => {
  const params = { path: { snapshotID } };
  const { data = [] } = await client.GET('/skerry/v1/snapshots/{snapshotID}/log', { params });
  return data.map((entry) => entry.snapshotID ?? '');
};
const publish = (client: Client, templateID: string) =>
  client.PATCH('/v2/templates/{templateID}', { params: { path: { templateID } }, body: { public: true } });
const diff = (client: Client, to: string, from?: string) =>
  client.GET('/skerry/v1/snapshots/diff', { params: { query: { to, ...(from && { from }) } } });

describe('a public snapshot of another project', () => {
  it('shows none of the private snapshots that it was created from', async () => {
    await capture(shop, await createSandbox(shop, 'base'), 'private');
    await capture(shop, await createSandbox(shop, 'private'), 'shared');
    expect((await publish(shop, 'shared')).response.status).toBe(200);
    const whole = ['shop/shared:default', 'shop/private:default'];
    expect(await log(shop, 'shop/shared')).toEqual(whole);
    expect(await log(clientOf(), 'shop/shared')).toEqual(whole);
    expect(await log(blog, 'shop/shared')).toEqual(['shop/shared:default']);
    expect((await diff(shop, 'shop/shared')).data).toEqual([]);
    const { error, response } = await diff(blog, 'shop/shared');
    expect([response.status, error?.message]).toEqual([404, expect.stringContaining('query.from')]);
    expect((await diff(blog, 'shop/shared', 'base')).data).toEqual([]);
    expect((await diff(blog, await createSandbox(blog, 'shop/shared'))).data).toEqual([]);
    await publish(shop, 'private');
    expect(await log(blog, 'shop/shared')).toEqual(whole);
    expect((await diff(blog, 'shop/shared')).data).toEqual([]);
  });
});

describe('a key of no project', () => {
  it('names a snapshot in the project of its sandbox', async () => {
    const sandboxID = await createSandbox(shop, 'base');
    expect((await capture(clientOf(), sandboxID, 'shop/kept')).data?.snapshotID).toBe('shop/kept:default');
    expect((await capture(clientOf(), sandboxID, 'kept:v2')).data?.snapshotID).toBe('shop/kept:v2');
    const { error, response } = await capture(clientOf(), sandboxID, 'local/kept');
    expect([response.status, error?.message]).toEqual([400, expect.stringContaining('"shop"')]);
  });
});

describe('a key that may only read', () => {
  it('compares snapshots, and no sandbox, whose pause would have to wait', async () => {
    const reader = clientOf(await createKey('shop', true));
    const sandboxID = await createSandbox(shop, 'base');
    await capture(shop, sandboxID, 'read');
    for (const [to, from] of [
      [sandboxID, undefined],
      ['read', sandboxID],
    ] as const) {
      const { error, response } = await diff(reader, to, from);
      expect([response.status, error?.message]).toEqual([403, expect.stringContaining('only read')]);
    }
    expect((await diff(reader, 'read')).data).toEqual([]);
  });
});
