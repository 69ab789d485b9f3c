import { createPlatformClient } from '@skerry/platform-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServedPlatform, servePlatform } from '../../testing/serve-platform.ts';

let served: ServedPlatform;
beforeAll(async () => {
  served = await servePlatform();
});
afterAll(() => served.close());

const clientOf = (apiKey = served.apiKey) => createPlatformClient({ baseUrl: served.baseUrl, apiKey });

const create = async (name: string, limits: { project?: string; readOnly?: boolean } = {}) => {
  const { data } = await clientOf().POST('/api-keys', { body: { name, ...limits } });
  if (data === undefined) throw new Error('no key was created');
  return data;
};

const list = async () => (await clientOf().GET('/api-keys')).data ?? [];

describe('API keys', () => {
  it('work at once, and are shown masked from then on', async () => {
    const { key, ...shown } = await create('nightly tests');
    expect(key).toMatch(/^e2b_[0-9a-f]{40}$/);
    expect(shown).toMatchObject({
      name: 'nightly tests',
      project: null,
      readOnly: false,
      mask: {
        prefix: 'e2b_',
        valueLength: 40,
        maskedValuePrefix: key.slice(4, 6),
        maskedValueSuffix: key.slice(-4),
      },
      createdBy: null,
      lastUsed: null,
    });
    expect((await clientOf(key).GET('/v2/sandboxes')).response.status).toBe(200);
    const keys = await list();
    expect(JSON.stringify(keys)).not.toContain(key.slice(4, 40));
    expect(keys.map(({ name }) => name)).toEqual(expect.arrayContaining(['nightly tests', 'server']));
    expect(keys.find(({ id }) => id === shown.id)).toEqual({ ...shown, lastUsed: expect.any(String) });
  });

  it('are not limited to the project whose names and uploads others find', async () => {
    const { response, error } = await clientOf().POST('/api-keys', { body: { name: 'x', project: 'local' } });
    expect([response.status, error?.message]).toEqual([400, expect.stringContaining('body.project')]);
  });

  it('are renamed', async () => {
    const { id } = await create('before');
    const params = { path: { apiKeyID: id } };
    const { data, response } = await clientOf().PATCH('/api-keys/{apiKeyID}', {
      params,
      body: { name: 'after' },
    });
    expect([response.status, data]).toEqual([200, {}]);
    expect((await list()).find((one) => one.id === id)?.name).toBe('after');
  });

  it('are refused from the reply of their revocation on', async () => {
    const { id, key } = await create('leaked');
    const params = { path: { apiKeyID: id } };
    expect((await clientOf(key).GET('/v2/sandboxes')).response.status).toBe(200);
    expect((await clientOf().DELETE('/api-keys/{apiKeyID}', { params })).response.status).toBe(204);
    expect((await clientOf(key).GET('/v2/sandboxes')).response.status).toBe(401);
    expect((await list()).some((one) => one.id === id)).toBe(false);
    expect((await clientOf().DELETE('/api-keys/{apiKeyID}', { params })).response.status).toBe(404);
    const renamed = await clientOf().PATCH('/api-keys/{apiKeyID}', { params, body: { name: 'again' } });
    expect(renamed.response.status).toBe(404);
  });

  it('are not revoked by themselves', async () => {
    const { id, key } = await create('own');
    const params = { path: { apiKeyID: id } };
    const { error, response } = await clientOf(key).DELETE('/api-keys/{apiKeyID}', { params });
    expect([response.status, error?.message]).toEqual([400, expect.stringContaining('another key')]);
    expect((await clientOf(key).GET('/v2/sandboxes')).response.status).toBe(200);
  });

  it.each(['', 'a'.repeat(129), 'two\nlines', '\u001b[31mred'])('have no name such as %j', async (name) => {
    const { error, response } = await clientOf().POST('/api-keys', { body: { name } });
    expect([response.status, error?.message]).toEqual([400, expect.stringContaining('body.name')]);
  });

  it.each(['', 'Shop', 'a/b', 'a'.repeat(65)])('have no project such as %j', async (project) => {
    const { error, response } = await clientOf().POST('/api-keys', { body: { name: 'x', project } });
    expect([response.status, error?.message]).toEqual([400, expect.stringContaining('body.project')]);
  });

  it('of a project make what belongs to it, and see nothing else', async () => {
    const shop = clientOf((await create('shop', { project: 'shop' })).key);
    const blog = clientOf((await create('blog', { project: 'blog' })).key);
    const body = { templateID: 'base' };
    const made = (await shop.POST('/v2/sandboxes', { body })).data;
    const other = (await clientOf().POST('/v2/sandboxes', { body })).data;
    const idsOf = async (client: typeof shop) => {
      const { data = [], response } = await client.GET('/v2/sandboxes');
      return [data.map(({ sandboxID }) => sandboxID), response.headers.get('X-Total-Running')];
    };
    expect(await idsOf(shop)).toEqual([[made?.sandboxID], '1']);
    expect(await idsOf(blog)).toEqual([[], '0']);
    expect(await idsOf(clientOf())).toEqual([[other?.sandboxID, made?.sandboxID], '2']);
    expect((await shop.GET('/teams')).data).toMatchObject([{ teamID: 'shop', name: 'shop' }]);
    const params = { path: { sandboxID: made?.sandboxID ?? '' } };
    expect((await blog.DELETE('/sandboxes/{sandboxID}', { params })).response.status).toBe(404);
    expect((await clientOf().DELETE('/sandboxes/{sandboxID}', { params })).response.status).toBe(204);
  });

  it('of a project use the templates that are public, and do not change them', async () => {
    const shop = clientOf((await create('shop', { project: 'shop' })).key);
    const base = { params: { path: { templateID: 'base' } } };
    expect((await shop.GET('/templates/{templateID}', base)).data?.names).toEqual(['local/base']);
    expect((await shop.GET('/v2/templates')).data).toEqual([]);
    const { error, response } = await shop.DELETE('/templates/{templateID}', base);
    expect([response.status, error?.message]).toEqual([403, expect.stringContaining('project "local"')]);
  });

  it('of a project are no keys of the installation', async () => {
    const { error, response } = await clientOf((await create('shop', { project: 'shop' })).key).GET(
      '/api-keys',
    );
    expect([response.status, error?.message]).toEqual([403, expect.stringContaining('project "shop"')]);
  });

  it('that may only read change nothing, and learn no token', async () => {
    const reader = clientOf((await create('reader', { readOnly: true })).key);
    const body = { templateID: 'base' };
    const { error, response } = await reader.POST('/v2/sandboxes', { body });
    expect([response.status, error?.message]).toEqual([403, expect.stringContaining('only read')]);
    const made = (await clientOf().POST('/v2/sandboxes', { body })).data;
    const params = { path: { sandboxID: made?.sandboxID ?? '' } };
    const seen = (await reader.GET('/sandboxes/{sandboxID}', { params })).data;
    expect(seen).toMatchObject({ sandboxID: made?.sandboxID });
    expect(seen).not.toHaveProperty('envdAccessToken');
    expect((await reader.GET('/api-keys')).response.status).toBe(200);
  });
});
