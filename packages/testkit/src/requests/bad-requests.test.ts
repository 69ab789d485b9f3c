import { connect } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { createPlatformClient } from '@skerry/platform-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchByHost } from '../stack/fetch-by-host.ts';
import { type Stack, startStack } from '../stack/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

interface Call {
  body?: string;
  headers?: Record<string, string>;
}

/** One request as it goes over the wire; the answer must be JSON whose code is the status. */
const call = async (route: string, { body, headers = {} }: Call = {}) => {
  const [method = '', path = ''] = route.split(' ');
  const response = await fetch(stack.address.apiUrl + path, {
    method,
    headers: {
      'X-API-Key': stack.address.apiKey,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
  });
  const answer = (await response.json()) as { code: number; message: string };
  expect(answer.code).toBe(response.status);
  return { status: response.status, message: answer.message };
};
const create = (body: object) =>
  call('POST /v2/sandboxes', { body: JSON.stringify({ templateID: 'base', ...body }) });

describe('a misspelled key of a body', () => {
  const misspelled = { templateID: 'base', timeoutt: 60 };

  it('is refused with its name when the header asks for it, and ignored otherwise', async () => {
    const body = JSON.stringify(misspelled);
    for (const route of ['POST /v2/sandboxes', 'POST /sandboxes'])
      expect(await call(route, { body, headers: { 'X-Skerry-Strict': 'true' } })).toEqual({
        status: 400,
        message: expect.stringContaining('timeoutt'),
      });
    const lax = createPlatformClient({ baseUrl: stack.address.apiUrl, apiKey: stack.address.apiKey });
    const { data, response } = await lax.POST('/v2/sandboxes', { body: misspelled });
    expect(response.status).toBe(201);
    await stack.api.DELETE('/sandboxes/{sandboxID}', {
      params: { path: { sandboxID: data?.sandboxID ?? '' } },
    });
  });

  it('is refused by the option of the client, also in an object of the body', async () => {
    const strict = createPlatformClient({
      baseUrl: stack.address.apiUrl,
      apiKey: stack.address.apiKey,
      strict: true,
    });
    const { error, response } = await strict.POST('/v2/sandboxes', { body: misspelled });
    expect([response.status, error?.message]).toEqual([400, expect.stringContaining('timeoutt')]);
    const nested = { templateID: 'base', network: { allowOutt: [] } };
    expect(await strict.POST('/v2/sandboxes', { body: nested })).toMatchObject({
      error: { code: 400, message: expect.stringContaining('allowOutt') },
    });
    const { data } = await strict.POST('/v2/sandboxes', { body: { templateID: 'base', timeout: 60 } });
    expect(data?.sandboxID).toMatch(/^i/);
    await stack.api.DELETE('/sandboxes/{sandboxID}', {
      params: { path: { sandboxID: data?.sandboxID ?? '' } },
    });
  });
});

describe('create', () => {
  it('from an unknown template gives 404 with its name', async () => {
    for (const templateID of ['no-such-template', 'base:no-such-tag', 'other/base'])
      expect(await create({ templateID })).toEqual({
        status: 404,
        message: expect.stringContaining(templateID),
      });
  });

  it.each([
    [{ timeout: 0 }, /timeout/],
    [{ timeout: -1 }, /timeout/],
    [{ timeout: 1.5 }, /timeout/],
    [{ timeout: '60' }, /timeout/],
    [{ timeout: 1e12 }, /timeout/],
    [{ templateID: undefined }, /templateID/],
    [{ templateID: 7 }, /templateID/],
    [{ templateID: ':x' }, /templateID/],
    [{ templateID: 'name:' }, /templateID/],
    [{ metadata: { a: 1 } }, /metadata/],
    [{ metadata: 'a=b' }, /metadata/],
    [{ envVars: { A: null } }, /envVars/],
    [{ envVars: { 'A=B': 'x' } }, /envVars/],
    [{ secure: false }, /secure/],
    [{ autoPauseMemory: false }, /autoPauseMemory/],
    [{ autoResume: {} }, /autoResume/],
    [{ autoResume: { enabled: true }, autoPauseMemory: false }, /autoPauseMemory/],
    [{ autoResume: { enabled: true }, autoPause: true, autoPauseMemory: false }, /autoPauseMemory/],
    [{ network: { denyOut: ['example.org'] } }, /network\.denyOut/],
    [{ volumeMounts: [{ name: 'a', path: '/b' }] }, /volumeMounts/],
  ])('with %j gives 400 that names the field', async (body, message) => {
    expect(await create(body)).toEqual({ status: 400, message: expect.stringMatching(message) });
  });

  it.each(['{', '[]', '"base"', 'null', '{"templateID":"base"', '\u0000'])(
    'with the body %j gives 400',
    async (body) => {
      expect(await call('POST /v2/sandboxes', { body })).toMatchObject({ status: 400 });
    },
  );

  it('with a body that is not JSON gives 400', async () => {
    const headers = { 'content-type': 'text/plain' };
    expect(await call('POST /v2/sandboxes', { body: 'templateID=base', headers })).toMatchObject({
      status: 400,
    });
    expect(await call('POST /v2/sandboxes')).toMatchObject({ status: 400 });
  });

  it('ignores unknown keys, and bodies may come in chunks', async () => {
    const response = await fetch(`${stack.address.apiUrl}/v2/sandboxes`, {
      method: 'POST',
      headers: { 'X-API-Key': stack.address.apiKey, 'content-type': 'application/json' },
      body: new Blob([JSON.stringify({ templateID: 'base', inventedTomorrow: true, timeout: 30 })]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect(response.status).toBe(201);
    const { sandboxID } = (await response.json()) as { sandboxID: string };
    await stack.api.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID } } });
  });

  it('leaves nothing behind when it is refused', async () => {
    expect((await stack.api.GET('/sandboxes')).data).toEqual([]);
  });
});

describe('other calls', () => {
  it.each([
    'GET /v2/sandboxes?limit=0',
    'GET /v2/sandboxes?limit=101',
    'GET /v2/sandboxes?limit=x',
    'GET /v2/sandboxes?order=sideways',
    'GET /v2/sandboxes?state=asleep',
    'GET /v2/sandboxes?state=running,asleep',
    'GET /v2/sandboxes?nextToken=junk',
    'GET /v2/sandboxes?startedAfter=yesterday',
    'GET /v2/sandboxes?template=base:tag',
    'GET /sandboxes?metadata=a',
    'GET /sandboxes?metadata=a%3Db%3Dc',
    'GET /sandboxes?metadata=a%3Db%26c',
  ])('%s gives 400 that names the parameter', async (route) => {
    const name = /\?(\w+)=/.exec(route)?.[1] ?? '';
    expect(await call(route)).toEqual({ status: 400, message: expect.stringContaining(name) });
  });

  it.each([
    ['GET /sandboxes/inosuchsandbox0000000', 404],
    ['DELETE /sandboxes/inosuchsandbox0000000', 404],
    ['GET /sandboxes/..%2Fetc', 400],
    ['GET /sandboxes/UPPER', 400],
    ['DELETE /sandboxes/a_b', 400],
    ['GET /sandboxes/%E0%A4%A', 400],
    ['GET /nowhere', 404],
    ['PATCH /sandboxes', 405],
  ])('%s gives %i', async (route, status) => {
    expect(await call(route)).toMatchObject({ status });
  });

  it.each([
    ['{"timeout":-1}', 400],
    ['{"timeout":"a"}', 400],
    ['{}', 400],
    ['', 400],
    ['{"timeout":10}', 404],
  ])('POST timeout of an unknown sandbox with the body %j gives %i', async (body, status) => {
    expect(await call('POST /sandboxes/inosuchsandbox0000000/timeout', { body })).toMatchObject({ status });
  });

  it.each([
    ['{"mode":"deep"}', /mode/],
    ['{"memory":"no"}', /memory/],
    ['{"memory":false,"mode":"full"}', /memory.*mode/],
    ['{"memory":true,"mode":"filesystem"}', /memory.*mode/],
  ])('pause with the body %s gives 400 that names the field', async (body, message) => {
    const { sandboxId, kill } = await stack.createSandbox();
    expect(await call(`POST /sandboxes/${sandboxId}/pause`, { body })).toEqual({
      status: 400,
      message: expect.stringMatching(message),
    });
    expect((await stack.api.GET('/sandboxes')).data).toMatchObject([{ state: 'running' }]);
    await kill();
  });

  it.each(['pause', 'resume'])('%s of an unknown sandbox gives 404', async (verb) => {
    expect(await call(`POST /sandboxes/inosuchsandbox0000000/${verb}`)).toMatchObject({ status: 404 });
  });

  it('resume of a running sandbox gives 409', async () => {
    const { sandboxId, kill } = await stack.createSandbox();
    const body = '{"timeout":60,"autoPause":false}';
    expect(await call(`POST /sandboxes/${sandboxId}/resume`, { body })).toMatchObject({ status: 409 });
    await kill();
  });

  it('connect by the older route demands a timeout', async () => {
    const { sandboxId, kill } = await stack.createSandbox();
    expect(await call(`POST /sandboxes/${sandboxId}/connect`, { body: '{}' })).toEqual({
      status: 400,
      message: expect.stringContaining('timeout'),
    });
    await kill();
  });
});

describe('the edge', () => {
  const hostOf = (label: string): string => `http://${label}.${stack.address.domain}/`;

  it.each(['0-iabc', '65536-iabc', 'http-iabc', '80-i_abc', '80-'])(
    'answers 400 with a short text for the host %s',
    async (label) => {
      const answer = await fetchByHost(stack.address.apiUrl, { host: `${label}.${stack.address.domain}` });
      expect(answer.status).toBe(400);
      expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    },
  );

  it('answers 400 for half a pair of routing headers', async () => {
    for (const name of ['E2b-Sandbox-Id', 'E2b-Sandbox-Port'])
      expect((await fetch(stack.address.sandboxUrl, { headers: { [name]: '1' } })).status).toBe(400);
  });

  it('answers 502 for a sandbox that does not exist, with both spellings of its id', async () => {
    const answer = await fetchByHost(`${hostOf('49983-inosuch')}health`);
    expect(answer.status).toBe(502);
    expect(JSON.parse(answer.text)).toEqual({
      sandboxID: 'inosuch',
      sandboxId: 'inosuch',
      message: 'The sandbox was not found',
      code: 502,
    });
  });

  it('survives what is not HTTP, and heads that never end', async () => {
    const { port } = new URL(stack.address.apiUrl);
    const say = async (bytes: string): Promise<string> => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(bytes);
      return readText(socket);
    };
    expect(await say('SSH-2.0-hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 /);
    expect(await say(`GET / HTTP/1.1\r\nX-Long: ${'a'.repeat(100_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /);
    expect((await fetch(`${stack.address.apiUrl}/health`)).status).toBe(200);
  });
});
