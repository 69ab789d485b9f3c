import { expect, it } from 'vitest';
import {
  AuthenticationError,
  InvalidArgumentError,
  MemoryNotKeptError,
  NotFoundError,
  RateLimitError,
  SandboxError,
  SandboxUnavailableError,
  TimeoutError,
} from '../errors.ts';
import { fromResponse } from './from-response.ts';

it.each([
  [400, InvalidArgumentError, 'invalid_argument', false],
  [401, AuthenticationError, 'unauthenticated', false],
  [403, AuthenticationError, 'permission_denied', false],
  [404, NotFoundError, 'not_found', false],
  [406, SandboxError, 'not_acceptable', false],
  [409, SandboxError, 'conflict', false],
  [418, InvalidArgumentError, 'invalid_argument', false],
  [429, RateLimitError, 'resource_exhausted', true],
  [500, SandboxError, 'internal', false],
  [501, SandboxError, 'unimplemented', false],
  [503, SandboxError, 'unavailable', true],
  [504, TimeoutError, 'timeout', false],
  [507, SandboxError, 'insufficient_storage', false],
])('maps HTTP %d to %o with code %s', (status, type, code, retryable) => {
  const headers = new Headers({ 'x-request-id': 'r1' });
  const error = fromResponse({ status, headers, body: { code: 999, message: 'why' } });
  expect(error).toBeInstanceOf(type);
  expect(error).toMatchObject({ code, retryable, message: 'why', requestId: 'r1', name: type.name });
});

it('has the time of Retry-After in the error of a limit', () => {
  const answer = { status: 429, headers: new Headers({ 'retry-after': '30' }), body: undefined };
  expect(fromResponse(answer)).toMatchObject({ code: 'resource_exhausted', retryAfterMs: 30_000 });
  expect(fromResponse({ ...answer, headers: new Headers() })).toMatchObject({ retryAfterMs: undefined });
});

it('distinguishes the 502 of the edge, which names the sandbox, from one of a proxy whose service is down', () => {
  const headers = new Headers();
  const body = { code: 502, message: 'The sandbox was not found', sandboxId: 'i1' };
  expect(fromResponse({ status: 502, headers, body })).toBeInstanceOf(SandboxUnavailableError);
  expect(fromResponse({ status: 502, headers, body: '<html>' })).toMatchObject({ code: 'unavailable' });
});

it.each([
  [409, 'conflict', false],
  [503, 'unavailable', true],
])('says what prevents keeping memory, with HTTP %d', (status, code, retryable) => {
  const obstacle = { kind: 'traced_process', process: { pid: 12, command: 'gdb' } };
  const body = { code: status, message: 'why', error_code: 'memory_not_kept', obstacle };
  const error = fromResponse({ status, headers: new Headers(), body });
  expect(error).toBeInstanceOf(MemoryNotKeptError);
  expect(error).toMatchObject({ code, retryable, message: 'why', obstacle });
  const without = fromResponse({
    status,
    headers: new Headers(),
    body: { ...body, obstacle: { kind: 'unrest' } },
  });
  expect(without).toMatchObject({ obstacle: { kind: 'unrest' } });
});

it.each([
  [undefined, 'HTTP 500'],
  ['', 'HTTP 500'],
  ['plain text\n', 'plain text'],
  [{ message: 5 }, 'HTTP 500'],
  [null, 'HTTP 500'],
])('accepts the body %j', (body, message) => {
  expect(fromResponse({ status: 500, headers: new Headers(), body }).message).toBe(message);
});

it('names the address of a redirect, and says of one in a browser that its address is hidden', () => {
  const headers = new Headers({ location: 'https://moved.example/' });
  const body = { message: 'moved' };
  const message = 'the answer is a redirect to https://moved.example/, which is not followed';
  expect(fromResponse({ status: 308, headers, body })).toMatchObject({ code: 'internal', message });
  expect(fromResponse({ status: 0, headers: new Headers(), body: '' }).message).toContain(
    'the browser hides',
  );
});
