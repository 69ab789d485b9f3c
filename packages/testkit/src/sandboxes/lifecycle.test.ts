import { setTimeout as delay } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { type Stack, startStack } from '../stack/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

const get = async (sandboxID: string) =>
  (await stack.api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } })).data;
const lifeOf = async (sandboxID: string): Promise<number> => {
  const detail = await get(sandboxID);
  return Date.parse(detail?.endAt ?? '') - Date.parse(detail?.startedAt ?? '');
};
const kill = (sandboxID: string) =>
  stack.api.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } });
const healthOf = async (sandboxId: string): Promise<number> =>
  (await fetchByHost(`http://49983-${sandboxId}.${stack.address.domain}/health`)).status;
/** The health of a sandbox that may end any moment: a request that is under way then is reset, which reads as 0. */
const lastHealthOf = (sandboxId: string): Promise<number> =>
  healthOf(sandboxId).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ECONNRESET') return 0;
    throw error;
  });

describe('create', () => {
  it.each([
    ['/v2/sandboxes', 300_000],
    ['/sandboxes', 15_000],
  ] as const)(
    'by POST %s gives a secured sandbox that is usable at once and lives %i ms',
    async (path, life) => {
      const { data, response } = await stack.api.POST(path, {
        body: { templateID: 'base', metadata: { purpose: 'a&b=c/d' }, envVars: { GREETING: 'hallo' } },
      });
      expect(response.status).toBe(201);
      const id = data?.sandboxID ?? '';
      expect(id).toMatch(/^i[a-z0-9]{20}$/);
      expect(await healthOf(id)).toBe(204);
      expect(data).toMatchObject({ envdVersion: '0.6.13', domain: stack.address.domain });
      expect(data?.envdAccessToken).toMatch(/^[0-9a-f]{64}$/);
      expect(await lifeOf(id)).toBe(life);
      expect(await get(id)).toMatchObject({
        sandboxID: id,
        templateID: data?.templateID,
        envdAccessToken: data?.envdAccessToken,
        envdVersion: '0.6.13',
        state: 'running',
        metadata: { purpose: 'a&b=c/d' },
      });
      const sandbox = await Sandbox.connect(id, stack.connection);
      const { stdout } = await sandbox.commands.run('echo $GREETING $E2B_SANDBOX_ID; whoami; pwd');
      expect(stdout).toBe(`hallo ${id}\nuser\n/home/user\n`);
      await kill(id);
    },
  );

  it('of ten at once gives ten different sandboxes that do not see each other', async () => {
    const sandboxes = await Promise.all(Array.from({ length: 10 }, () => stack.createSandbox()));
    expect(new Set(sandboxes.map(({ sandboxId }) => sandboxId)).size).toBe(10);
    await Promise.all(
      sandboxes.map(async ({ sandboxId }) => {
        const sandbox = await Sandbox.connect(sandboxId, stack.connection);
        await sandbox.files.write('/tmp/mine', sandboxId);
        expect(await sandbox.files.read('/tmp/mine')).toBe(sandboxId);
        const { stdout } = await sandbox.commands.run('uname -n; cat /etc/hostname');
        expect(stdout).toBe(`${sandboxId}\n${sandboxId}\n`);
      }),
    );
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  });
});

describe('a sandbox made with allow_internet_access false', () => {
  it('says so, works, and reaches no address of the internet', async () => {
    const { data } = await stack.api.POST('/v2/sandboxes', {
      body: { templateID: 'base', allow_internet_access: false },
    });
    const id = data?.sandboxID ?? '';
    expect(await get(id)).toMatchObject({ allowInternetAccess: false });
    const sandbox = await Sandbox.connect(id, stack.connection);
    const script = `timeout 3 bash -c ': < /dev/tcp/1.1.1.1/443' 2> /dev/null && echo reached || echo unreachable`;
    expect((await sandbox.commands.run(script)).stdout).toBe('unreachable\n');
    await kill(id);
  });
});

describe('a server with settings of its own', () => {
  it('makes open sandboxes by POST /sandboxes when told so, and routes by headers on a shared host', async () => {
    const args = ['--no-secure-by-default', '--shared-host', 'boxes.test'];
    await using own = await startStack({ args });
    const body = { templateID: 'base', timeout: 60 };
    const { data: open } = await own.api.POST('/sandboxes', { body });
    const { data: secured } = await own.api.POST('/v2/sandboxes', { body });
    expect([open?.envdAccessToken, typeof secured?.envdAccessToken]).toEqual([undefined, 'string']);
    const ask = (host: string) =>
      fetchByHost(`${own.address.apiUrl}/envs`, {
        host,
        headers: { 'E2b-Sandbox-Id': open?.sandboxID ?? '', 'E2b-Sandbox-Port': '49983' },
      });
    expect([(await ask('boxes.test')).status, (await ask('others.test')).status]).toEqual([200, 400]);
  });
});

describe('request ids', () => {
  it('stand in every answer of the platform, the edge and the agent, as the caller gave them', async () => {
    const { sandboxId } = await stack.createSandbox();
    const { apiUrl, domain } = stack.address;
    for (const url of [
      `${apiUrl}/health`,
      `${apiUrl}/sandboxes/none`,
      `http://49983-${sandboxId}.${domain}/health`,
      `http://49983-${sandboxId}.${domain}/files?path=x`,
      `http://49983-inone.${domain}/health`,
      `http://99999-inone.${domain}/health`,
    ]) {
      const made = (await fetchByHost(url)).headers['x-request-id'];
      expect(made, url).toMatch(/^[0-9a-f-]{36}$/);
      const given = { 'x-request-id': 'my-request.1' };
      expect((await fetchByHost(url, { headers: given })).headers['x-request-id'], url).toBe('my-request.1');
    }
    await kill(sandboxId);
  });
});

describe('list', () => {
  it('shows running sandboxes, newest first, filtered by metadata in either encoding, and page by page', async () => {
    const metadata = { 'user id': 'a&b=c/d' };
    const made: string[] = [];
    for (let index = 0; index < 3; index++) made.unshift((await stack.createSandbox({ metadata })).sandboxId);
    const other = await stack.createSandbox();

    const { data: all } = await stack.api.GET('/sandboxes');
    expect(all?.map(({ sandboxID }) => sandboxID)).toEqual([other.sandboxId, ...made]);

    const once = 'user%20id=a%26b%3Dc%2Fd';
    for (const filter of [once, encodeURIComponent('user%20id=a%26b%3Dc%2Fd')]) {
      const { data } = await stack.api.GET('/sandboxes', { params: { query: { metadata: filter } } });
      expect(data?.map(({ sandboxID }) => sandboxID)).toEqual(made);
    }

    const pages: string[][] = [];
    let nextToken: string | undefined;
    do {
      const { data, response } = await stack.api.GET('/v2/sandboxes', {
        params: { query: { metadata: once, limit: 2, ...(nextToken === undefined ? {} : { nextToken }) } },
      });
      expect(response.headers.get('x-total-running')).toBe('3');
      pages.push((data ?? []).map(({ sandboxID }) => sandboxID));
      nextToken = response.headers.get('x-next-token') ?? undefined;
    } while (nextToken !== undefined);
    expect(pages).toEqual([made.slice(0, 2), made.slice(2)]);

    await Promise.all([...made, other.sandboxId].map(kill));
    expect((await stack.api.GET('/sandboxes')).data).toEqual([]);
  });
});

describe('time to live', () => {
  it('is only ever extended by connect, and set by timeout', async () => {
    const { sandboxId: sandboxID } = await stack.createSandbox({ timeoutSeconds: 120 });
    const params = { path: { sandboxID } };
    const before = await get(sandboxID);
    for (const path of ['/sandboxes/{sandboxID}/connect', '/v2/sandboxes/{sandboxID}/connect'] as const) {
      const { data, response } = await stack.api.POST(path, { params, body: { timeout: 60 } });
      expect(response.status).toBe(200);
      expect(data?.envdAccessToken).toBe(before?.envdAccessToken);
      expect((await get(sandboxID))?.endAt).toBe(before?.endAt);
    }
    await stack.api.POST('/v2/sandboxes/{sandboxID}/connect', { params });
    expect(await lifeOf(sandboxID)).toBeGreaterThanOrEqual(300_000);
    const askedAt = Date.now();
    const { response } = await stack.api.POST('/sandboxes/{sandboxID}/timeout', {
      params,
      body: { timeout: 30 },
    });
    expect(response.status).toBe(204);
    const answeredAt = Date.now();
    const endAt = Date.parse((await get(sandboxID))?.endAt ?? '');
    expect(endAt).toBeGreaterThanOrEqual(askedAt + 30_000);
    expect(endAt).toBeLessThanOrEqual(answeredAt + 30_000);
    await kill(sandboxID);
  });

  it('is extended by refreshes, by 15 s at least, and never shortened', async () => {
    const { data } = await stack.api.POST('/sandboxes', { body: { templateID: 'base', timeout: 30 } });
    const sandboxID = data?.sandboxID ?? '';
    const refresh = async (body?: { duration?: number }): Promise<number> => {
      const params = { path: { sandboxID } };
      const path = '/sandboxes/{sandboxID}/refreshes';
      const { response } = await stack.api.POST(path, body === undefined ? { params } : { params, body });
      return response.status;
    };
    const before = await get(sandboxID);
    expect([await refresh(), await refresh({ duration: 0 }), await refresh({ duration: 10 })]).toEqual([
      204, 204, 204,
    ]);
    expect((await get(sandboxID))?.endAt).toBe(before?.endAt);
    const askedAt = Date.now();
    expect(await refresh({ duration: 3600 })).toBe(204);
    expect(Date.parse((await get(sandboxID))?.endAt ?? '')).toBeGreaterThanOrEqual(askedAt + 3_600_000);
    expect(await refresh({ duration: 3601 })).toBe(400);
    await kill(sandboxID);
    expect(await refresh()).toBe(404);
  });

  it('is at most 24 hours: a create that asks for more is refused, later calls are cut off there', async () => {
    const tooLong = await stack.api.POST('/v2/sandboxes', { body: { templateID: 'base', timeout: 86_401 } });
    expect(tooLong.response.status).toBe(400);
    expect(tooLong.error?.message).toBe('body.timeout must be at most 86400, got 86401');
    const { sandboxId: sandboxID } = await stack.createSandbox();
    const params = { path: { sandboxID } };
    const { response } = await stack.api.POST('/sandboxes/{sandboxID}/timeout', {
      params,
      body: { timeout: 200_000 },
    });
    expect(response.status).toBe(204);
    expect(await lifeOf(sandboxID)).toBe(86_400_000);
    await kill(sandboxID);
  });

  it('ends the sandbox within a second of its end', async () => {
    const { sandboxId: sandboxID } = await stack.createSandbox({ timeoutSeconds: 60 });
    const set = performance.now();
    await stack.api.POST('/sandboxes/{sandboxID}/timeout', {
      params: { path: { sandboxID } },
      body: { timeout: 2 },
    });
    // How long the machine takes for one request at the moment.
    let slowestMs = performance.now() - set;
    for (let health = 204; health === 204; ) {
      const askedMs = performance.now();
      health = await lastHealthOf(sandboxID);
      slowestMs = Math.max(slowestMs, performance.now() - askedMs);
      await delay(20);
    }
    const lived = performance.now() - set;
    expect(lived).toBeGreaterThan(1900);
    expect(lived).toBeLessThan(3000 + 3 * slowestMs);
    expect(await healthOf(sandboxID)).toBe(502);
    expect(await get(sandboxID)).toBeUndefined();
  });

  it('of 0 ends the sandbox now', async () => {
    const { sandboxId: sandboxID } = await stack.createSandbox();
    const params = { path: { sandboxID } };
    await stack.api.POST('/sandboxes/{sandboxID}/timeout', { params, body: { timeout: 0 } });
    await expect.poll(() => lastHealthOf(sandboxID), { interval: 20 }).toBe(502);
  });
});

describe('kill', () => {
  it('makes the sandbox unknown to every call and its hosts answer 502', async () => {
    const { sandboxId: sandboxID } = await stack.createSandbox();
    const params = { path: { sandboxID } };
    expect((await kill(sandboxID)).response.status).toBe(204);
    expect(await healthOf(sandboxID)).toBe(502);
    const answers = [
      await kill(sandboxID),
      await stack.api.GET('/sandboxes/{sandboxID}', { params }),
      await stack.api.POST('/sandboxes/{sandboxID}/timeout', { params, body: { timeout: 10 } }),
      await stack.api.POST('/sandboxes/{sandboxID}/connect', { params, body: { timeout: 10 } }),
      await stack.api.POST('/v2/sandboxes/{sandboxID}/connect', { params }),
    ];
    for (const { response, error } of answers) {
      expect(response.status).toBe(404);
      expect(error).toMatchObject({ code: 404, message: expect.stringContaining(sandboxID) });
    }
    expect(await Sandbox.kill(sandboxID, stack.connection)).toBe(false);
  });

  it('accepts an id with the client id behind it', async () => {
    const { sandboxId } = await stack.createSandbox();
    expect((await kill(`${sandboxId}-anything`)).response.status).toBe(204);
    expect(await get(sandboxId)).toBeUndefined();
  });
});
