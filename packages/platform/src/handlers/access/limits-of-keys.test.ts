import { createPlatformClient } from '@skerry/platform-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ServedPlatform, servePlatform } from '../../testing/serve-platform.ts';

let served: ServedPlatform;
beforeAll(async () => {
  served = await servePlatform();
});
afterAll(() => served.close());

const clientOf = (apiKey = served.apiKey) => createPlatformClient({ baseUrl: served.baseUrl, apiKey });
type Client = ReturnType<typeof clientOf>;
type Limits = { sandboxes?: number; memoryMB?: number; requestsPerSecond?: number };
const createKey = async (limits: Limits, project?: string) => {
  const body = { name: 'ci', limits, ...(project !== undefined && { project }) };
  const { data } = await clientOf().POST('/api-keys', { body });
  if (data === undefined) throw new Error('no key was created');
  return { id: data.id, limits: data.limits, client: clientOf(data.key) };
};
const create = async (client: Client, timeout = 60) => {
  const { data, error, response } = await client.POST('/v2/sandboxes', {
    body: { templateID: 'base', timeout },
  });
  const retryAfter = response.headers.get('Retry-After');
  return { id: data?.sandboxID ?? '', status: response.status, message: error?.message, retryAfter };
};
const at = (sandboxID: string) => ({ params: { path: { sandboxID } } });

describe('the limits of a key', () => {
  it('refuse a sandbox beyond them with the limit, its key, what is used and when there is room', async () => {
    const { client, limits } = await createKey({ sandboxes: 1 }, 'shop');
    expect(limits).toEqual({ sandboxes: 1 });
    expect((await create(client, 20)).status).toBe(201);
    const refused = await create(client);
    expect(refused).toMatchObject({
      status: 429,
      message: expect.stringMatching(
        /^the key "ci" of the project "shop" is limited to 1 running sandbox, has 1, and this one needs 1 more: end or pause one, or wait: there is room in (19|20) s$/,
      ),
    });
    expect(Number(refused.retryAfter)).toBeGreaterThan(15);
    expect((await create(clientOf())).status).toBe(201);
    expect((await create((await createKey({ sandboxes: 1 }, 'shop')).client)).status).toBe(201);
  });

  it('count a resume, also by another key, and not what is paused', async () => {
    const { client } = await createKey({ sandboxes: 1 });
    const { id } = await create(client);
    await client.POST('/sandboxes/{sandboxID}/pause', at(id));
    const second = await create(client);
    expect(second.status).toBe(201);
    const resumed = await clientOf().POST('/v2/sandboxes/{sandboxID}/connect', at(id));
    expect([resumed.response.status, resumed.error?.message]).toEqual([
      ...[429, expect.stringContaining('the key "ci" is limited')],
    ]);
    await client.DELETE('/sandboxes/{sandboxID}', at(second.id));
    const again = await client.POST('/v2/sandboxes/{sandboxID}/connect', at(id));
    expect(again.response.status).toBe(201);
  });

  it('count a fork for the key that makes it', async () => {
    const { client } = await createKey({ sandboxes: 2 });
    const { id } = await create(client);
    const fork = async (by: Client) => {
      const { data = [] } = await by.POST('/v2/sandboxes/{sandboxID}/fork', {
        ...at(id),
        body: { count: 2 },
      });
      return data
        .map((fork) => ('error' in fork ? fork.error.code : 201))
        .toSorted((one, other) => one - other);
    };
    expect(await fork(client)).toEqual([201, 429]);
    expect(await fork(clientOf())).toEqual([201, 201]);
  });

  it('answer 403 to what they never allow, and can be replaced', async () => {
    const { id, client } = await createKey({ memoryMB: 512 });
    expect(await create(client)).toMatchObject({
      status: 403,
      message: 'the key "ci" is limited to 512 MiB of memory of running sandboxes, and this one needs 1024',
      retryAfter: null,
    });
    const params = { path: { apiKeyID: id } };
    await clientOf().PATCH('/api-keys/{apiKeyID}', { params, body: { limits: { memoryMB: 1024 } } });
    expect((await create(client)).status).toBe(201);
    expect((await create(client)).message).toContain('has 1024, and this one needs 1024 more');
    const listed = (await clientOf().GET('/api-keys')).data?.find((one) => one.id === id);
    expect(listed).toMatchObject({ name: 'ci', limits: { memoryMB: 1024 } });
  });

  it('are not exceeded by a burst of calls', async () => {
    const { client } = await createKey({ sandboxes: 4 });
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await create(client)).status));
    expect(statuses.filter((status) => status === 201)).toHaveLength(4);
    expect(new Set(statuses)).toEqual(new Set([201, 429]));
  });

  it('bound the calls in a second, and say in each answer how many are left', async () => {
    const { client } = await createKey({ requestsPerSecond: 3 });
    const ask = async (by = client) => {
      const { response, error } = await by.GET('/v2/sandboxes');
      const fields = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit', 'Retry-After'];
      return [response.status, ...fields.map((name) => response.headers.get(name)), error?.message];
    };
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask()));
    expect(answers.toSorted(([one], [other]) => Number(one) - Number(other))).toEqual([
      [200, '3', '2', '"key";r=2;t=1', null, undefined],
      [200, '3', '1', '"key";r=1;t=1', null, undefined],
      [200, '3', '0', '"key";r=0;t=1', null, undefined],
      ...[4, 5].map((made) => [
        ...[429, '3', '0', '"key";r=0;t=1', '1'],
        `the key "ci" is limited to 3 calls per second on each server, and has made ${made}: try again in 1 s`,
      ]),
    ]);
    expect((await ask(clientOf())).slice(0, 2)).toEqual([200, null]);
    await expect.poll(async () => (await ask())[0], { interval: 200, timeout: 5000 }).toBe(200);
  });

  it.each([{ sandboxes: 0 }, { memoryMB: 1.5 }, { sandboxes: -1 }])(
    'have no value such as %j',
    async (limits) => {
      const { error, response } = await clientOf().POST('/api-keys', { body: { name: 'ci', limits } });
      expect([response.status, error?.message]).toEqual([400, expect.stringContaining('body.limits')]);
    },
  );
});
