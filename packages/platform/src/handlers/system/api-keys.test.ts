import { createPlatformClient } from '@skerry/platform-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServedPlatform, servePlatform } from '../../testing/serve-platform.ts';

let served: ServedPlatform;
beforeAll(async () => {
  served = await servePlatform();
});
afterAll(() => served.close());

const clientOf = (apiKey = served.apiKey) => createPlatformClient({ baseUrl: served.baseUrl, apiKey });

const create = async (name: string) => {
  const { data } = await clientOf().POST('/api-keys', { body: { name } });
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
});
