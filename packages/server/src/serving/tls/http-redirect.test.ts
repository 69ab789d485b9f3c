import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type HttpRedirect, openHttpRedirect } from './http-redirect.ts';

let redirect: HttpRedirect;
const open = async (domain: string): Promise<HttpRedirect> =>
  openHttpRedirect({
    host: '127.0.0.1',
    port: 0,
    domain,
    sharedHosts: ['shared.test'],
    log: { error() {}, warn() {}, info() {}, debug() {} } as never,
  });
beforeEach(async () => {
  redirect = await open('boxes.test:8443');
});
afterEach(() => redirect.close());

/** Sends bytes and reads the answer until the server ends the connection. */
const send = (bytes: string, port = redirect.port): Promise<string> => {
  const socket = connect({ host: '127.0.0.1', port });
  socket.write(bytes);
  return text(socket);
};
const ask = (host: string, { line = 'GET /a?b=1 HTTP/1.1', headers = '' } = {}) =>
  send(`${line}\r\nHost: ${host}\r\n${headers}\r\n`);

describe('the port that redirects', () => {
  it.each([
    ['boxes.test', 'boxes.test'],
    ['api.boxes.test', 'api.boxes.test'],
    ['3000-i1.boxes.test:80', '3000-i1.boxes.test'],
    ['API.Boxes.Test.', 'api.boxes.test'],
    ['shared.test', 'shared.test'],
  ])(
    'sends a caller of %s to the port with TLS, with the same path, and ends the connection',
    async (host, name) => {
      const answer = await ask(host, {
        line: 'POST /a?b=1 HTTP/1.1',
        headers: 'Content-Length: 2\r\n\r\nab',
      });
      expect(answer).toMatch(/^HTTP\/1\.1 308 /);
      expect(answer).toContain(`location: https://${name}:8443/a?b=1\r\n`);
      expect(answer).toContain('Connection: close');
    },
  );

  it('names no port where TLS has its usual one', async () => {
    const usual = await open('boxes.test');
    expect(await send('GET / HTTP/1.1\r\nHost: boxes.test\r\n\r\n', usual.port)).toContain(
      'location: https://boxes.test/\r\n',
    );
    await usual.close();
  });

  it.each([
    'evil.test',
    'boxes.test.evil.test',
    'evilboxes.test',
    'a.b.boxes.test',
    'evil.test/.boxes.test',
    'evil@boxes.test',
    'evil.test#.boxes.test',
    '.boxes.test',
    '127.0.0.1',
    '',
  ])('answers 421 without a place to a request for "%s", which it does not serve', async (host) => {
    const answer = await ask(host);
    expect(answer).toMatch(/^HTTP\/1\.1 421 /);
    expect(answer.toLowerCase()).not.toContain('location');
  });

  it.each(['http://evil.test/', '*', 'evil.test:443'])(
    'takes no place for a path from "%s"',
    async (target) => {
      const answer = await ask('boxes.test', { line: `OPTIONS ${target} HTTP/1.1` });
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer.toLowerCase()).not.toContain('location');
    },
  );

  it.each(['X-API-Key', 'Authorization', 'X-Access-Token', 'E2b-Traffic-Access-Token'])(
    'refuses a request that sends its %s in plain, and says so',
    async (header) => {
      const answer = await ask('api.boxes.test', { headers: `${header}: secret\r\n` });
      expect(answer).toMatch(/^HTTP\/1\.1 403 /);
      expect(answer).toContain('use https://api.boxes.test:8443');
      expect(answer).not.toContain('secret');
    },
  );

  it('waits for neither the body nor a change of the protocol', async () => {
    for (const headers of [
      'Content-Length: 1000000\r\nExpect: 100-continue\r\n',
      'Connection: Upgrade\r\nUpgrade: websocket\r\n',
    ])
      expect(await ask('boxes.test', { headers })).toMatch(/^HTTP\/1\.1 308 /);
  });
});
