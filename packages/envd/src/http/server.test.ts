import { connect } from 'node:net';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const basic = (user: string): Record<string, string> => ({
  authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}`,
});

const sendRaw = (text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(join(agent.socketDir, 'http.sock'));
    let answer = '';
    socket.on('data', (data) => {
      answer += data.toString();
    });
    socket.once('error', reject);
    socket.once('close', () => resolve(answer));
    socket.end(text);
  });

describe('before the first initialisation', () => {
  it('answers GET /health with 204 that must not be cached', async () => {
    const { status, headers, body } = await agent.http({ path: '/health' });
    expect([status, headers['cache-control'], body.length]).toEqual([204, 'no-store', 0]);
  });

  it('answers without a token and runs processes as root', async () => {
    const { stdout } = await collectOutput(
      agent.processes().start({ process: { cmd: 'id', args: ['-un'] } }),
    );
    expect(stdout).toBe('root\n');
  });
});

describe('routes', () => {
  it.each(['/init', '/nothing', '/', '/process.Process', '/health/../init'])(
    'has nothing at GET or POST %s, so nothing internal is public',
    async (path) => {
      for (const method of ['GET', 'POST']) {
        const { status, json } = await agent.http({ method, path });
        expect([status, json]).toEqual([404, { code: 404, message: `no route ${method} ${path}` }]);
      }
    },
  );

  it('answers 404 with the error body to a procedure that no service has', async () => {
    const { status, json } = await agent.call('process.Process/Explode', {});
    expect([status, json]).toMatchObject([404, { code: 404 }]);
  });

  it('says 405 and what is allowed for a known path with another method', async () => {
    const { status, headers, json } = await agent.http({ method: 'DELETE', path: '/files' });
    expect([status, headers.allow, json]).toMatchObject([405, 'GET, HEAD, POST', { code: 405 }]);
  });

  it('does not open tunnels on its public side', async () => {
    expect(await sendRaw('CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n')).not.toContain('200');
  });
});

describe('cross-origin requests', () => {
  it('answers a preflight before it asks for a token', async () => {
    await agent.initialize({ accessToken: 'secret' });
    const { status, headers } = await agent.http({
      method: 'OPTIONS',
      path: '/process.Process/Start',
      headers: {
        origin: 'https://example.com',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-access-token,connect-protocol-version',
      },
    });
    expect(status).toBe(204);
    expect(headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'HEAD, GET, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': 'x-access-token,connect-protocol-version',
      'access-control-max-age': '7200',
    });
  });

  it('lets any origin read errors as well', async () => {
    const { status, headers } = await agent.http({
      path: '/metrics',
      headers: { origin: 'https://a.example' },
    });
    expect([status, headers['access-control-allow-origin']]).toEqual([401, '*']);
  });
});

describe('with a token', () => {
  beforeAll(() => agent.initialize({ accessToken: 'secret', defaultUser: 'user' }));

  it('keeps GET /health open', async () => {
    expect((await agent.http({ path: '/health' })).status).toBe(204);
  });

  it('refuses a call without it, or with a wrong one, with 401 that Connect clients understand', async () => {
    const { status, json } = await agent.call('process.Process/List', {});
    expect([status, json]).toEqual([401, { code: 401, message: 'missing X-Access-Token header' }]);
    const wrong = agent.processes({ headers: { 'x-access-token': 'wrong' } });
    await expect(wrong.list({})).rejects.toMatchObject({ code: Code.Unauthenticated });
  });

  it('asks for the token before it looks at the user', async () => {
    const { json } = await agent.call('process.Process/List', {}, basic('nobody-here'));
    expect(json).toEqual({ code: 401, message: 'missing X-Access-Token header' });
  });

  it('refuses an unknown user of the Basic header, on calls and on plain routes', async () => {
    const headers = { 'x-access-token': 'secret', ...basic('nobody-here') };
    const call = await agent.call('process.Process/List', {}, headers);
    expect([call.status, call.json]).toEqual([
      401,
      { code: 'unauthenticated', message: "invalid username: 'nobody-here'" },
    ]);
    const plain = await agent.http({ path: '/metrics', headers });
    expect([plain.status, plain.json]).toEqual([
      401,
      { code: 401, message: "invalid username: 'nobody-here'" },
    ]);
    const stream = agent
      .processes({ headers })
      .start({ process: { cmd: 'true' } })
      [Symbol.asyncIterator]();
    await expect(stream.next()).rejects.toMatchObject({
      code: Code.Unauthenticated,
      rawMessage: "invalid username: 'nobody-here'",
    });
  });

  it('takes the default user when nobody is named, whatever the password says', async () => {
    const run = async (headers: Record<string, string>): Promise<string> => {
      const processes = agent.processes({ headers: { 'x-access-token': 'secret', ...headers } });
      return (await collectOutput(processes.start({ process: { cmd: 'id', args: ['-un'] } }))).stdout;
    };
    expect(await run({})).toBe('user\n');
    const withPassword = { authorization: `Basic ${Buffer.from('root:ignored').toString('base64')}` };
    expect(await run(withPassword)).toBe('root\n');
  });
});

describe('broken requests', () => {
  beforeAll(() => agent.initialize({ accessToken: 'secret' }));
  const list = 'POST /process.Process/List HTTP/1.';

  it.each([
    [
      'an old request without Host',
      `${list}0\r\nContent-Type: application/json\r\nX-Access-Token: secret\r\n\r\n{}`,
    ],
    [
      'a Host that is no host',
      `${list}1\r\nHost: [:::\r\nX-Access-Token: secret\r\nConnection: close\r\n\r\n`,
    ],
    ['a request target that is no path', 'GET http:// HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['a bad percent code', 'GET /files?path=%zz%ff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'],
    ['bytes that are no HTTP', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03'],
  ])('survives %s', async (_what, text) => {
    expect(await sendRaw(text)).toMatch(/^HTTP\/1\.1 [24]/);
    expect((await agent.http({ path: '/health' })).status).toBe(204);
  });

  it('never wrote of an uncaught exception', () => {
    expect(agent.log()).not.toContain('uncaught');
    expect(agent.log()).not.toContain('unhandled');
  });
});
