import { EventEmitter, once } from 'node:events';
import { createServer as createHttpServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as delay, setImmediate as immediate } from 'node:timers/promises';
import { ApiError, invalid, notFound } from '@skerry/contract/error';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Handlers } from './routes.ts';
import { createServer } from './serve.ts';

/** A few operations of the real document, typed as the generator would. */
interface Paths {
  '/v2/sandboxes': {
    get: {
      parameters: { query?: { state?: ('running' | 'paused')[]; limit?: number; metadata?: string } };
      responses: {
        200: { headers: { 'X-Next-Token'?: string }; content: { 'application/json': unknown[] } };
      };
    };
    post: {
      parameters: { query?: never };
      requestBody: { content: { 'application/json': { templateID: string; timeout?: number } } };
      responses: { 201: { content: { 'application/json': Record<string, unknown> } } };
    };
  };
  '/v2/sandboxes/{sandboxID}/connect': {
    post: {
      parameters: { path: { sandboxID: string } };
      requestBody?: { content: { 'application/json': { timeout?: number } } };
      responses: { 200: { content: { 'application/json': Record<string, unknown> } } };
    };
  };
  '/templates/{templateID}': {
    delete: {
      parameters: { path: { templateID: string } };
      responses: { 204: { content?: never } };
    };
  };
}

const sandbox = { templateID: 't1', sandboxID: 'i1', clientID: 'skerry', envdVersion: '0.6.13' };

const createHandlers = (seen: unknown[]): Handlers<Paths, { key: string }> => ({
  'GET /v2/sandboxes': ({ query, context }) => {
    seen.push({ query, context });
    return { status: 200, body: [], headers: { 'X-Next-Token': query.limit === 1 ? 'more' : undefined } };
  },
  'POST /v2/sandboxes': ({ body }) => {
    seen.push(body);
    if (body.templateID === 'missing') throw notFound('template "missing" was not found');
    if (body.templateID === 'broken') throw new TypeError('secret detail');
    if (body.templateID === 'slow') {
      throw new ApiError('timeout', 'the sandbox did not start', { cause: new Error('no agent') });
    }
    if (body.templateID === 'full') {
      throw new ApiError('resource_exhausted', 'too fast', { headers: { 'Retry-After': '2' } });
    }
    if (body.templateID === 'wrong') return { status: 201, body: { sandboxID: 7 } };
    return { status: 201, body: { ...sandbox, hostPath: '/srv/secret' } };
  },
  'POST /v2/sandboxes/{sandboxID}/connect': ({ params, body }) => {
    seen.push({ params, body });
    return { status: 200, body: sandbox };
  },
  'DELETE /templates/{templateID}': ({ params }) => {
    seen.push(params);
    return { status: 204 };
  },
});

const start = (options: { validateResponses?: boolean } = {}) => {
  const seen: unknown[] = [];
  const logged: Record<string, unknown>[] = [];
  const server = createServer<Paths, { key: string }>({
    handlers: createHandlers(seen),
    authenticate: ({ headers }) => {
      const key = headers['x-api-key'];
      if (typeof key !== 'string') throw new ApiError('unauthenticated', 'missing API key');
      return { key };
    },
    log: { error: (_message, fields) => logged.push(fields) },
    bodyLimitBytes: 2000,
    ...options,
  });
  onTestFinished(() => server.close());
  const call = async (
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    payload?: object | string,
    type?: string,
  ) => {
    const headers: Record<string, string> = { 'x-api-key': 'e2b_1' };
    if (payload !== undefined) headers['content-type'] = type ?? 'application/json';
    const reply = await server.inject({
      method,
      url,
      headers,
      ...(payload === undefined ? {} : { payload }),
    });
    return {
      status: reply.statusCode,
      headers: reply.headers,
      text: reply.body,
      body: reply.body === '' ? undefined : (reply.json() as unknown),
    };
  };
  return { server, seen, logged, call };
};

/** Real sockets: injected requests have none. */
const listen = async (server: FastifyInstance) => {
  await server.ready();
  const http = createHttpServer((request, response) => server.routing(request, response)).listen(
    0,
    '127.0.0.1',
  );
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return { http, port, url: `http://127.0.0.1:${port}` };
};

describe('createServer', () => {
  it('passes converted query parameters and the caller to the handler', async () => {
    const { call, seen } = start();
    const reply = await call('GET', '/v2/sandboxes?state=running,paused&limit=1&unknown=x&metadata=a%253Db');
    expect(reply).toMatchObject({ status: 200, body: [], headers: { 'x-next-token': 'more' } });
    expect(seen).toEqual([
      { query: { state: ['running', 'paused'], limit: 1, metadata: 'a%3Db' }, context: { key: 'e2b_1' } },
    ]);
  });

  it('accepts a repeated list parameter and ignores an empty one', async () => {
    const { call, seen } = start();
    await call('GET', '/v2/sandboxes?state=running&state=paused');
    await call('GET', '/v2/sandboxes?state=');
    expect(seen).toMatchObject([{ query: { state: ['running', 'paused'] } }, { query: {} }]);
  });

  it.each([
    ['/v2/sandboxes?limit=0', 'validation error: query.limit must be between 1 and 100, got 0'],
    ['/v2/sandboxes?limit=ten', 'validation error: query.limit must be an integer, got "ten"'],
    [
      '/v2/sandboxes?state=dead',
      'validation error: query.state[0] must be one of running, paused, got "dead"',
    ],
  ])('refuses %s', async (url, message) => {
    const { call, seen } = start();
    const reply = await call('GET', url);
    expect(reply).toMatchObject({ status: 400, body: { code: 400, message } });
    expect(seen).toEqual([]);
  });

  it.each([
    [{}, 'validation error: body.templateID is required'],
    [{ templateID: 'base', timeout: 0 }, 'validation error: body.timeout must be at least 1, got 0'],
    [{ templateID: 'base', timeout: '9' }, 'validation error: body.timeout must be an integer, got "9"'],
    [{ templateID: 'base', secure: false }, 'validation error: body.secure must be true, got false'],
    [
      { templateID: 'base', metadata: { 'a b': 1 } },
      'validation error: body.metadata["a b"] must be a string, got 1',
    ],
    [
      { templateID: 'base', network: { egressProxy: { address: 'p:1', password: 7 } } },
      'validation error: body.network.egressProxy.password must be a string',
    ],
    [[], 'validation error: body must be an object'],
    ['', 'validation error: body is required'],
    ['null', 'validation error: body is required'],
  ])('refuses the create body %j', async (payload, message) => {
    const { call, seen } = start();
    const reply = await call('POST', '/v2/sandboxes', payload);
    expect(reply).toMatchObject({ status: 400, body: { code: 400, message } });
    expect(seen).toEqual([]);
  });

  it('ignores keys that the document does not know, and does not change the body', async () => {
    const { call, seen } = start();
    await call('POST', '/v2/sandboxes', { templateID: 'base', future: { x: 1 } });
    expect(seen).toEqual([{ templateID: 'base', future: { x: 1 } }]);
  });

  it('refuses broken JSON, foreign content types and large bodies with 400', async () => {
    const { call } = start();
    expect(await call('POST', '/v2/sandboxes', '{"templateID":')).toMatchObject({
      status: 400,
      body: { code: 400, message: 'body is not valid JSON' },
    });
    expect(await call('POST', '/v2/sandboxes', 'a=b', 'text/plain')).toMatchObject({
      status: 400,
      body: { code: 400, message: 'the content type must be application/json' },
    });
    expect(await call('POST', '/v2/sandboxes', { templateID: 'x'.repeat(3000) })).toMatchObject({
      status: 400,
      body: { code: 400, message: 'the body is too large' },
    });
  });

  it('accepts an optional body that is absent, or empty under a JSON content type', async () => {
    const { call, seen } = start();
    expect((await call('POST', '/v2/sandboxes/i1/connect')).status).toBe(200);
    expect((await call('POST', '/v2/sandboxes/i1/connect', '')).status).toBe(200);
    expect(seen).toEqual([{ params: { sandboxID: 'i1' } }, { params: { sandboxID: 'i1' } }]);
  });

  it('matches the encoded path, so that one parameter may contain "/" and ":"', async () => {
    const { call, seen } = start();
    const reply = await call('DELETE', '/templates/team%2Fapp%3Av2');
    expect(reply).toMatchObject({ status: 204, text: '' });
    expect(reply.headers['transfer-encoding']).toBeUndefined();
    expect((await call('DELETE', '/templates/app:v2')).status).toBe(204);
    expect((await call('DELETE', `/templates/${'%C3%A4'.repeat(100)}`)).status).toBe(204);
    expect(seen.slice(0, 2)).toEqual([{ templateID: 'team/app:v2' }, { templateID: 'app:v2' }]);
  });

  it('refuses malformed ids, overlong parameters and malformed percent-encoding', async () => {
    const { call } = start();
    expect(await call('POST', '/v2/sandboxes/I_1/connect')).toMatchObject({
      status: 400,
      body: { code: 400 },
    });
    expect(await call('DELETE', `/templates/${'a'.repeat(1025)}`)).toMatchObject({
      status: 400,
      body: { code: 400, message: 'a path parameter is longer than 1024 characters' },
    });
    expect(await call('DELETE', '/templates/%zz')).toMatchObject({
      status: 400,
      body: { code: 400, message: 'the path has invalid percent-encoding' },
    });
  });

  it('authenticates the caller before it parses the body', async () => {
    const { server, seen } = start();
    const reply = await server.inject({ method: 'POST', url: '/v2/sandboxes', payload: '{' });
    expect(reply.statusCode).toBe(401);
    expect(reply.json()).toEqual({ code: 401, message: 'missing API key' });
    expect(seen).toEqual([]);
  });

  it('answers a preflight without authentication', async () => {
    const { server } = start();
    const reply = await server.inject({
      method: 'OPTIONS',
      url: '/v2/sandboxes',
      headers: { origin: 'https://page.example', 'access-control-request-method': 'POST' },
    });
    expect(reply.statusCode).toBe(204);
  });

  it('renders typed errors with their headers and hides unexpected ones, logging the cause', async () => {
    const { call, logged } = start();
    expect(await call('POST', '/v2/sandboxes', { templateID: 'missing' })).toMatchObject({
      status: 404,
      body: { code: 404, message: 'template "missing" was not found' },
    });
    expect(await call('POST', '/v2/sandboxes', { templateID: 'full' })).toMatchObject({
      status: 429,
      headers: { 'retry-after': '2' },
    });
    expect(logged).toEqual([]);
    expect((await call('POST', '/v2/sandboxes', { templateID: 'slow' })).body).toEqual({
      code: 504,
      message: 'the sandbox did not start',
    });
    expect(logged.splice(0)).toMatchObject([{ error: { cause: { message: 'no agent' } } }]);
    const reply = await call('POST', '/v2/sandboxes', { templateID: 'broken' });
    expect(reply).toMatchObject({ status: 500, body: { code: 500, message: 'internal server error' } });
    expect(reply.text).not.toContain('secret');
    expect(logged).toMatchObject([
      { method: 'POST', path: '/v2/sandboxes', error: { message: 'secret detail' } },
    ]);
  });

  it('answers unknown paths with 404 and other methods of a known path with 405 and Allow', async () => {
    const { call } = start();
    expect(await call('GET', '/nowhere?x=1')).toMatchObject({
      status: 404,
      body: { code: 404, message: 'there is no operation GET /nowhere' },
    });
    expect(await call('PUT', '/v2/sandboxes')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, POST' },
      body: { code: 405, message: '/v2/sandboxes does not support PUT, only GET, POST' },
    });
  });

  it('identifies each request in its response and in the log, and uses the id of the caller if there is one', async () => {
    const { server, logged } = start();
    const ask = async (url: string, id?: string) => {
      const headers = { 'x-api-key': 'e2b_1', ...(id !== undefined && { 'x-request-id': id }) };
      const options = { method: 'POST' as const, url, headers, payload: { templateID: 'broken' } };
      return (await server.inject(options)).headers['x-request-id'];
    };
    expect(await ask('/v2/sandboxes', 'mine-1')).toBe('mine-1');
    const made = await ask('/v2/sandboxes', 'two words');
    expect(made).toMatch(/^[0-9a-f-]{36}$/);
    expect(logged.map(({ requestId }) => requestId)).toEqual(['mine-1', made]);
    for (const url of ['/nowhere', '/%zz', `/sandboxes/${'x'.repeat(2000)}`])
      expect(await ask(url, 'mine-2')).toBe('mine-2');
  });

  it('sends only the fields that the document declares', async () => {
    const { call } = start();
    expect(await call('POST', '/v2/sandboxes', { templateID: 'base' })).toMatchObject({
      status: 201,
      body: sandbox,
    });
    expect((await call('POST', '/v2/sandboxes', { templateID: 'base' })).text).not.toContain('hostPath');
  });

  it('turns a response that contradicts the document into a 500 when validation of responses is on', async () => {
    const { call, logged } = start({ validateResponses: true });
    expect((await call('POST', '/v2/sandboxes', { templateID: 'base' })).status).toBe(201);
    expect((await call('POST', '/v2/sandboxes', { templateID: 'wrong' })).status).toBe(500);
    expect(String(logged[0]?.error)).toContain('createSandbox answered 201 wrongly');
  });

  it('refuses to start with a handler for an operation that the document does not have', () => {
    expect(() =>
      createServer({
        handlers: { 'GET /nowhere': () => ({ status: 200 }) } as never,
        authenticate: () => undefined,
        log: { error: () => undefined },
      }),
    ).toThrow('the document has no operation GET /nowhere');
  });

  it('logs an unexpected error after a real body, and not a caller that disconnects in the middle of one', async () => {
    const { server, logged } = start();
    const failures = new EventEmitter();
    server.addHook('onError', async () => {
      failures.emit('failure');
    });
    const { http, port, url } = await listen(server);
    const headers = { 'x-api-key': 'e2b_1', 'content-type': 'application/json' };
    const body = JSON.stringify({ templateID: 'broken' });
    expect((await fetch(`${url}/v2/sandboxes`, { method: 'POST', headers, body })).status).toBe(500);
    expect(logged).toHaveLength(1);

    const failed = new Promise<void>((resolve) => {
      failures.once('failure', resolve);
    });
    const leaving = connect(port, '127.0.0.1');
    leaving.write('POST /v2/sandboxes HTTP/1.1\r\nhost: x\r\nx-api-key: e2b_1\r\n');
    leaving.write('content-type: application/json\r\ncontent-length: 100\r\n\r\n{"te');
    await once(http, 'request');
    leaving.resetAndDestroy();
    await failed;
    await immediate();
    expect(logged).toHaveLength(1);
  });

  it('aborts the signal when the caller disconnects, and only then', async () => {
    const signals: AbortSignal[] = [];
    const handlers: Handlers<Paths> = {
      ...(createHandlers([]) as unknown as Handlers<Paths>),
      'GET /v2/sandboxes': async ({ signal, query }) => {
        signals.push(signal);
        // The abort that ends the wait is what this test checks.
        if (query.limit === 2) await delay(10_000, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) throw invalid('gone');
        return { status: 200, body: [] };
      },
    };
    const server = createServer<Paths, undefined>({
      handlers,
      authenticate: () => undefined,
      log: { error: () => undefined },
    });
    const { url } = await listen(server);
    const base = `${url}/v2/sandboxes`;
    expect((await fetch(base)).status).toBe(200);
    expect(signals[0]?.aborted).toBe(false);

    const leaving = httpRequest(`${base}?limit=2`);
    leaving.on('error', () => undefined);
    leaving.end();
    await expect.poll(() => signals.length).toBe(2);
    leaving.destroy();
    await expect.poll(() => signals[1]?.aborted).toBe(true);
  });
});
