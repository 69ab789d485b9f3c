import { connect } from 'node:net';
import { join } from 'node:path';
import { hashToken } from '@skerry/contract/agent-access';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { collectOutput } from '../testing/collect-output.ts';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

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

  it('answers 405 and the allowed methods for a known path with another method', async () => {
    const { status, headers, json } = await agent.http({ method: 'DELETE', path: '/files' });
    expect([status, headers.allow, json]).toMatchObject([405, 'GET, HEAD, POST', { code: 405 }]);
  });

  it('does not open tunnels on its public side', async () => {
    expect(await sendRaw('CONNECT localhost:22 HTTP/1.1\r\nHost: localhost:22\r\n\r\n')).not.toContain('200');
  });
});

describe('broken requests', () => {
  beforeAll(() => agent.initialize({ accessTokenSha256: hashToken('secret') }));
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
