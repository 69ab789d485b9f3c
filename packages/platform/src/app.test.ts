import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentPaths } from './http/document.ts';
import { type ServedPlatform, servePlatform } from './testing/serve-platform.ts';

const methods = new Set(['get', 'put', 'post', 'delete', 'patch']);
/** But those of the address space of a sandbox, if there are any, which name servers of their own, and those without a key. */
const operations = Object.entries(documentPaths)
  .filter(([, item]) => !('servers' in item))
  .flatMap(([path, item]) =>
    Object.entries(item as Record<string, { security?: unknown[] }>)
      .filter(([name, { security }]) => methods.has(name) && security?.length !== 0)
      .map(([method]) => ({ method: method.toUpperCase(), path })),
  );

let served: ServedPlatform;

beforeAll(async () => {
  served = await servePlatform();
});
afterAll(() => served.close());

/**
 * Sends a request without a body and with a made-up value for each parameter: whether the key is asked for
 * does not depend on them.
 */
const ask = async (method: string, path: string, headers: Record<string, string> = {}) => {
  const url = `${served.baseUrl}${path.replaceAll(/\{\w+\}/g, 'x')}`;
  const response = await fetch(url, { method, headers });
  return { status: response.status, body: await response.text() };
};

describe('every operation of the document', () => {
  it('is listed here', () => {
    expect(operations.length).toBeGreaterThan(30);
  });

  it.each(operations)('$method $path asks for the API key', async ({ method, path }) => {
    const refused = { status: 401, body: expect.stringContaining('X-API-Key') };
    expect(await ask(method, path)).toEqual(refused);
    const unknown = `e2b_${'0'.repeat(40)}`;
    expect(await ask(method, path, { 'x-api-key': unknown })).toMatchObject({ status: 401 });
    // So that not everything is answered so.
    expect(await ask(method, path, { 'x-api-key': served.apiKey })).not.toMatchObject({ status: 401 });
  });
});

describe('the builds of version 1', () => {
  it.each([
    'POST /templates',
    'POST /templates/web',
    'POST /templates/web/builds/0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10',
  ])('%s is answered with 410 that names what replaces it', async (route) => {
    const [method = '', path = ''] = route.split(' ');
    const { status, body } = await ask(method, path, { 'x-api-key': served.apiKey });
    expect([status, JSON.parse(body)]).toEqual([
      410,
      { code: 410, message: expect.stringContaining('POST /v3/templates') },
    ]);
  });

  it('do not change what other methods of these paths answer', async () => {
    const { status, body } = await ask('PUT', '/templates', { 'x-api-key': served.apiKey });
    expect([status, body]).toEqual([405, expect.stringContaining('only GET')]);
  });
});

describe('the team of an installation', () => {
  const get = async (path: string) => {
    const { status, body } = await ask('GET', path, { 'x-api-key': served.apiKey });
    return [status, JSON.parse(body)];
  };

  it('is one, with the key of the call', async () => {
    const team = { teamID: 'local', name: 'local', apiKey: served.apiKey, isDefault: true };
    expect(await get('/teams')).toEqual([200, [team]]);
  });

  it('has metrics of the last hour by default, and their maximum', async () => {
    const [status, steps] = await get('/teams/local/metrics');
    expect([status, steps.length]).toEqual([200, expect.toBeOneOf([120, 121])]);
    expect(steps[0]).toEqual({
      timestamp: expect.stringMatching(/Z$/),
      timestampUnix: expect.any(Number),
      concurrentSandboxes: 0,
      sandboxStartRate: 0,
    });
    expect(await get('/teams/local/metrics/max?metric=sandbox_start_rate')).toEqual([
      200,
      { timestamp: expect.stringMatching(/Z$/), timestampUnix: expect.any(Number), value: 0 },
    ]);
  });

  it.each([
    ['/teams/other/metrics', 403, 'other'],
    ['/teams/local/metrics?start=2&end=1', 400, 'query.start'],
    ['/teams/local/metrics/max', 400, 'query.metric'],
    ['/teams/local/metrics/max?metric=cpu', 400, 'query.metric'],
  ])('%s is answered with %i', async (path, status, named) => {
    expect(await get(path)).toEqual([status, { code: status, message: expect.stringContaining(named) }]);
  });
});
