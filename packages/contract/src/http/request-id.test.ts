import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { requestIdOf } from './request-id.ts';

const ask = (given: string | undefined): IncomingMessage =>
  ({ headers: given === undefined ? {} : { 'x-request-id': given } }) as unknown as IncomingMessage;

it('takes the id of the caller', () => {
  expect(requestIdOf(ask('Build-7_a.1'))).toBe('Build-7_a.1');
});

it.each([undefined, '', 'two words', 'a'.repeat(65), 'line\nbreak', 'ü'])(
  'generates one UUID for each request when the caller sends %j',
  (given) => {
    const request = ask(given);
    expect(requestIdOf(request)).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(requestIdOf(request)).toBe(requestIdOf(request));
    expect(requestIdOf(ask(given))).not.toBe(requestIdOf(request));
  },
);
