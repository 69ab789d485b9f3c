import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { createPlainCalls, filesOf } from './plain-calls.ts';
import { unaryJson } from './rpc-calls.ts';

const internal = ['init', 'freeze', 'unfreeze', 'collapse', 'fsfreeze', 'fsthaw', 'upgrade'];
const evil = JSON.stringify({
  accessTokenSha256: createHash('sha256').update('taken').digest('hex'),
  envVars: { EVIL: '1' },
});
const headers = { 'content-type': 'application/json' };

testAgents((agent) => {
  const plain = agent.plain;
  const origin = 'https://page.example';

  describe('a page of another origin', () => {
    it.each([
      '/health',
      '/files?path=/etc/hostname',
      '/process.Process/Start',
      '/filesystem.Filesystem/Stat',
      '/metrics',
    ])(
      'rule 6.1-14, 10-30: gets the allowed methods and headers from the preflight of %s without a token',
      async (path) => {
        const wanted = 'x-access-token,connect-protocol-version,connect-timeout-ms,x-anything-else';
        for (const method of ['HEAD', 'GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
          const { status, headers, bytes } = await plain.call(`OPTIONS ${path}`, {
            token: null,
            headers: {
              origin,
              'access-control-request-method': method,
              'access-control-request-headers': wanted,
            },
          });
          expect([status, bytes.length]).toEqual([204, 0]);
          expect(headers['access-control-allow-origin']).toBe('*');
          expect(headers['access-control-allow-methods']?.split(', ')).toEqual([
            'HEAD',
            'GET',
            'POST',
            'PUT',
            'PATCH',
            'DELETE',
          ]);
          expect(headers['access-control-allow-headers']).toBe(wanted);
          expect(headers['access-control-max-age']).toBe('7200');
        }
      },
    );

    it('rule 6.1-14: may read answers and errors, and their headers', async () => {
      const body = JSON.stringify({ path: '/etc/hostname' });
      const token = 'wrong';
      for (const { status, headers } of [
        await plain.call('GET /health', { headers: { origin } }),
        await plain.call(`GET ${filesOf('/etc/hostname')}`, { headers: { origin } }),
        await plain.call(`GET ${filesOf('/no/such')}`, { headers: { origin } }),
        await plain.call('POST /filesystem.Filesystem/Stat', { headers: { ...unaryJson, origin }, body }),
        await plain.call('POST /filesystem.Filesystem/Stat', {
          headers: { ...unaryJson, origin },
          body,
          token,
        }),
      ]) {
        expect([status, headers['access-control-allow-origin']]).toEqual([expect.any(Number), '*']);
        expect(headers['access-control-expose-headers']).toBe('*');
      }
    });

    it('rule 10-30: needs the token for a request that only looks like a preflight', async () => {
      const request = { token: null, headers: { origin } };
      expect((await plain.refusal('OPTIONS /process.Process/List', request)).status).toBe(401);
      expect((await plain.refusal('OPTIONS /files', { token: null })).status).toBe(401);
    });
  });

  describe('exemptions from the token', () => {
    it.each([
      'GET /health/',
      'GET //health',
      'GET /./health',
      'GET /x/../health',
      'GET /%68ealth',
      'GET /Health',
      'POST /health',
      'PUT /health',
      'PUT /files?path=/tmp/x',
      'DELETE /files?path=/tmp/x',
      'GET /files/?path=/etc/hostname',
      'GET //files?path=/etc/hostname',
      'GET /files/../metrics',
      'GET /files%3Fpath=/etc/hostname',
      'GET /health/../envs',
      'POST /files/compose',
      'GET /envs',
      'POST /process.Process/List',
      'POST /health/../process.Process/List',
    ])('rule 10-30: do not cover %s', async (route) => {
      const { status } = await plain.refusal(route, { token: null, headers: unaryJson });
      expect(status).toBe(401);
    });

    it('rule 10-30: cover exactly the health of the sandbox', async () => {
      expect((await plain.call('GET /health', { token: null })).status).toBe(204);
      expect((await plain.call('GET /health?x=1', { token: null })).status).toBe(204);
    });
  });

  describe('the routes of the host', () => {
    it.each([
      '//init',
      '/./init',
      '/x/../init',
      '/../init',
      '/init/',
      '/init?x=1',
      '/%69nit',
      '/%2e/init',
      '/x/%2e%2e/init',
      '/x%2f..%2finit',
      '/%2Finit',
      '/init%2f',
      '/init%3Fx',
      '/%2569nit',
      '/INIT',
      '/init;x',
      '/\\init',
    ])('rule 5.2-8: %s answers 404 as well', async (path) => {
      const { status } = await plain.call(`POST ${path}`, { headers, body: evil });
      expect(status).toBe(404);
      expect((await plain.call('GET /files?path=/etc/hostname')).status).toBe(200);
      expect((await plain.refusal('GET /files?path=/etc/hostname', { token: 'taken' })).status).toBe(401);
    });

    it('rule 5.2-8: do not exist on the port inside, and the private socket is closed to the user', async () => {
      const curl = `curl -s -o /dev/null -w '%{http_code}' -X POST -d '{}'`;
      const token = `-H 'X-Access-Token: ${agent.accessToken}'`;
      for (const user of ['user', 'root']) {
        const stdout = await agent.run(`${curl} ${token} ${agent.innerUrl}/init`, user);
        expect(stdout).toBe('404');
      }
      const direct = `${curl} --unix-socket ${agent.innerSocketDir}/control.sock http://sandbox/init; echo " $?"`;
      expect(await agent.run(direct, 'user')).toBe('000 7\n');
      expect((await plain.call('GET /files?path=/etc/hostname')).status).toBe(200);
    });
  });

  describe('the routes of the host at the edge', () => {
    agent.needs('platform');

    it.each(internal)(
      'rule 5.2-8: /%s answers 404 with its normalized path, with any token',
      async (name) => {
        for (const method of ['POST', 'GET', 'PUT'])
          for (const token of [undefined, null, 'wrong'] as const) {
            const call = {
              headers,
              ...(token === undefined ? {} : { token }),
              ...(method === 'GET' ? {} : { body: evil }),
            };
            const { status, text } = await plain.call(`${method} /${name}`, call);
            expect([status, JSON.parse(text)]).toEqual([
              404,
              { message: expect.any(String), path: `/${name}`, code: 404 },
            ]);
          }
      },
    );

    it('rule 5.2-8: is refused before the sandbox is looked up', async () => {
      const sandbox = { sandboxId: 'inobody', accessToken: 'x' };
      const unknown = createPlainCalls(() => ({ stack: agent.stack, sandbox }));
      expect((await unknown.call('POST /init', { headers, body: evil })).status).toBe(404);
      expect((await unknown.call('GET /health')).status).toBe(502);
    });
  });
});
