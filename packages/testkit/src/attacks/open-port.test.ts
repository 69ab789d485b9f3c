import { afterAll, beforeAll, expect } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { attackFromOutside } from './attack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack({ args: ['--host', '0.0.0.0', '--plain-http', '--no-memory'] });
});
afterAll(() => stack.down());

attackFromOutside(
  'calling the API of a server that is open to other machines without its key',
  'the key, without which no server starts',
  async () => {
    expect(stack.address.apiKey.length).toBeGreaterThan(20);
    for (const headers of [
      {},
      { 'X-API-Key': '' },
      { 'X-API-Key': 'undefined' },
      { Authorization: 'Bearer' },
    ])
      expect((await fetch(`${stack.address.apiUrl}/sandboxes`, { headers })).status).toBe(401);
    expect((await stack.api.GET('/sandboxes')).response.status).toBe(200);
  },
);

attackFromOutside(
  'setting a cookie for the domain of the API from the page of a sandbox',
  'the API takes its key from a header alone',
  async () => {
    const { apiUrl, apiKey } = stack.address;
    const cookie = ['X-API-Key', 'api_key', 'apiKey', 'token', 'session']
      .map((name) => `${name}=${apiKey}`)
      .join('; ');
    expect((await fetch(`${apiUrl}/sandboxes`, { headers: { cookie } })).status).toBe(401);
    // What a page sets does not prevent a call with a key, either.
    const long = `padding=${'x'.repeat(8_000)}`;
    const answer = await fetch(`${apiUrl}/sandboxes`, { headers: { cookie: long, 'X-API-Key': apiKey } });
    expect(answer.status).toBe(200);
  },
);
