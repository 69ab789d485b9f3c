import { ApiError } from '@skerry/contract/error';
import { describe, expect, it } from 'vitest';
import { documentPaths, readOperation as operation } from './document.ts';
import { createValidators, type RequestParts } from './validate.ts';

const validators = createValidators();

const check = (key: string, parts: Partial<RequestParts>) =>
  validators.forRequest(operation(key))({ params: {}, query: {}, headers: {}, body: undefined, ...parts });

const messageOf = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 'invalid_argument' });
    return (error as ApiError).message;
  }
  throw new Error('nothing was refused');
};

const keys = Object.entries(documentPaths).flatMap(([path, item]) =>
  ['get', 'put', 'post', 'patch', 'delete']
    .filter((method) => method in item)
    .map((method) => `${method.toUpperCase()} ${path}`),
);

describe('createValidators', () => {
  it.each(keys)('compiles the request and the responses of %s', (key) => {
    const refusal = (): unknown => {
      try {
        check(key, {});
        return { status: 400 };
      } catch (error) {
        return error;
      }
    };
    // A request without parts is accepted or refused; a schema that cannot be compiled throws an error
    // without a status.
    expect(refusal()).toMatchObject({ status: 400 });
    expect(validators.forResponse(operation(key))).toBeTypeOf('function');
  });

  it('converts text in URLs and does not change its input', () => {
    const query = { logsOffset: '20', limit: '5', level: 'warn', other: 'x' };
    const params = { templateID: 't', buildID: '0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10' };
    expect(check('GET /templates/{templateID}/builds/{buildID}/status', { query, params })).toEqual({
      params,
      query: { logsOffset: 20, limit: 5, level: 'warn' },
      headers: {},
      body: undefined,
    });
    expect(query.logsOffset).toBe('20');
  });

  it('matches declared headers case-insensitively', () => {
    const { headers } = check('GET /files', {
      headers: { 'accept-encoding': 'gzip', range: 'bytes=0-1', host: 'h' },
    });
    expect(headers).toEqual({ 'accept-encoding': 'gzip', range: 'bytes=0-1' });
  });

  it.each([
    ['GET /v2/sandboxes', { query: { limit: '101' } }, 'query.limit must be between 1 and 100, got 101'],
    ['GET /v2/sandboxes', { query: { limit: ['1', '2'] } }, 'query.limit must be an integer'],
    ['GET /v2/sandboxes', { query: { order: 'up' } }, 'query.order must be one of asc, desc, got "up"'],
    [
      'GET /v2/sandboxes',
      { query: { startedAfter: '2026-11-20' } },
      'query.startedAfter must be an RFC 3339 date and time with a time zone, got "2026-11-20"',
    ],
    [
      'GET /templates/{templateID}/builds/{buildID}/status',
      { params: { templateID: 't', buildID: 'b1' } },
      'path.buildID must be a UUID, got "b1"',
    ],
    [
      'GET /templates/{templateID}/files/{hash}',
      { params: { templateID: 't', hash: 'AB' } },
      'path.hash must match ^[0-9a-f]{64}$, got "AB"',
    ],
    [
      'POST /v3/templates',
      { body: { name: 'a', memoryMB: 129 } },
      'body.memoryMB must be a multiple of 2, got 129',
    ],
    [
      'POST /v3/templates',
      { body: { name: 'a', memoryMB: 64 } },
      'body.memoryMB must be at least 128, got 64',
    ],
    ['POST /v3/templates', { body: { name: '' } }, 'body.name must have at least 1 character, got ""'],
    [
      'POST /sandboxes/{sandboxID}/fork',
      { params: { sandboxID: 'i1' }, body: { count: 101 } },
      'body.count must be between 1 and 100, got 101',
    ],
    [
      'POST /sandboxes/{sandboxID}/timeout',
      { params: { sandboxID: 'i1' }, body: { timeout: 3_000_000_000 } },
      'body.timeout must be a 32-bit integer, got 3000000000',
    ],
    [
      'PUT /sandboxes/{sandboxID}/network',
      { params: { sandboxID: 'i1' }, body: { rules: { 'a.example': [{}, {}] } } },
      'body.rules["a.example"] must have at most 1 item',
    ],
    [
      'POST /v2/sandboxes',
      { body: { templateID: 'base', network: { httpsPorts: [443, 0] } } },
      'body.network.httpsPorts[1] must be between 1 and 65535, got 0',
    ],
  ])('refuses a request to %s with %j', (key, parts, message) => {
    expect(messageOf(() => check(key, parts))).toBe(`validation error: ${message}`);
  });

  it('does not repeat a secret or a long value', () => {
    const registry = { fromImage: 'x', fromImageRegistry: { awsSecretAccessKey: 7 } };
    const params = { templateID: 't', buildID: '0b0f6a9e-6a3f-4f0e-9a53-3f5f0a5c8f10' };
    const key = 'POST /v2/templates/{templateID}/builds/{buildID}';
    expect(messageOf(() => check(key, { params, body: registry }))).toBe(
      'validation error: body.fromImageRegistry.awsSecretAccessKey must be a string',
    );
    expect(messageOf(() => check('GET /v2/sandboxes', { query: { order: 'x'.repeat(200) } }))).toBe(
      'validation error: query.order must be one of asc, desc',
    );
  });

  it('distinguishes 64-bit numbers from 32-bit ones', () => {
    const params = { sandboxID: 'i1' };
    const { query } = check('GET /sandboxes/{sandboxID}/logs', { params, query: { start: '1795168800000' } });
    expect(query).toEqual({ start: 1_795_168_800_000 });
  });
});

describe('forResponse', () => {
  const checkFork = validators.forResponse(operation('POST /sandboxes/{sandboxID}/fork'));
  const sandbox = { templateID: 't', sandboxID: 'i1', clientID: 'c', envdVersion: '0.6.13' };

  it('accepts what the document declares', () => {
    expect(() => checkFork(201, [{ sandbox }, { error: { code: 503, message: 'full' } }])).not.toThrow();
  });

  it.each([
    [202, [], 'answered 202, which is not declared'],
    [201, [{}], 'body[0] must have exactly one of sandbox, error'],
    [201, [{ sandbox, error: { code: 1, message: '' } }], 'body[0] must have exactly one of sandbox, error'],
    [201, [{ sandbox: { ...sandbox, domain: 7 } }], 'body[0].sandbox.domain must be a string or null, got 7'],
    [201, undefined, 'body must be an array'],
  ])('refuses %s with %j', (status, body, message) => {
    expect(() => checkFork(status, body)).toThrow(message);
  });

  it('refuses a body where none is declared', () => {
    const checkDelete = validators.forResponse(operation('DELETE /sandboxes/{sandboxID}'));
    expect(() => checkDelete(204, undefined)).not.toThrow();
    expect(() => checkDelete(204, {})).toThrow('with a body');
  });
});
