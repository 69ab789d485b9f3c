import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { filesOf, rawBody } from './plain-calls.ts';

testAgents((agent) => {
  const { call, refusal } = agent.plain;
  const rpc = { 'content-type': 'application/json', 'connect-protocol-version': '1' };
  const stat = { headers: rpc, body: '{"path":"/"}' };
  const basic = (user: string): Record<string, string> => ({
    authorization: `Basic ${Buffer.from(user).toString('base64')}`,
  });
  const preflight = {
    origin: 'https://app.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-access-token',
  };

  describe('the access token', () => {
    it.each([
      ['missing', null],
      ['wrong', '0'.repeat(64)],
      ['of another length', 'x'],
      ['almost right', undefined],
    ])(
      'rule 5.1-1: that is %s answers 401 on plain routes and unauthenticated on calls',
      async (_title, given) => {
        const token = given === undefined ? `${agent.accessToken.slice(0, -1)}!` : given;
        const upload = { token, headers: rawBody, body: 'x' };
        expect(await refusal(`GET ${filesOf('/etc/hostname')}`, { token })).toMatchObject({ status: 401 });
        expect(await refusal(`POST ${filesOf('/tmp/refused')}`, upload)).toMatchObject({ status: 401 });
        expect(await refusal('POST /filesystem.Filesystem/Stat', { ...stat, token })).toMatchObject({
          status: 401,
        });
        await expect(
          agent.clientOf({ accessToken: token ?? '' }).filesystem.stat({ path: '/' }),
        ).rejects.toMatchObject({ code: 16 });
        const list = agent.clientOf({ accessToken: token ?? '' }).process.start({ process: { cmd: 'true' } });
        await expect(list[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 16 });
        expect(await agent.files.exists('/tmp/refused')).toBe(false);
      },
    );

    it('rule 5.1-1: of one agent is refused by another', async () => {
      const other = await agent.another();
      expect(other.accessToken).not.toBe(agent.accessToken);
      const token = other.accessToken;
      expect(await refusal(`GET ${filesOf('/etc/hostname')}`, { token })).toMatchObject({ status: 401 });
      await other.end();
    });

    it.each([
      'HEAD /files',
      'PUT /files',
      'GET /files/',
      'GET //files',
      'POST /files/compose',
      'GET /metrics',
      'GET /envs',
      'POST /health',
      'GET /health/',
      'OPTIONS /files',
      'GET /nowhere',
      'POST /process.Process/List',
      'POST /filesystem.Filesystem/ListDir',
    ])('rule 5.1-2, 10-30: is asked for by %s', async (route) => {
      const body = route.startsWith('POST') ? { headers: rpc, body: '{}' } : {};
      const answer = await call(route, { token: null, ...body });
      expect(answer.status).toBe(401);
      if (!route.startsWith('HEAD'))
        expect(JSON.parse(answer.text)).toEqual({ code: 401, message: 'missing X-Access-Token header' });
    });

    it('rule 5.1-9: is asked for at the port inside, where no program can speak for the edge', async () => {
      const ask = (...headers: string[]): Promise<string> => {
        const given = headers.map((header) => `-H '${header}'`).join(' ');
        return agent.run(`curl -s -o /dev/null -w '%{http_code}' ${given} ${agent.innerUrl}/envs`, 'user');
      };
      const token = `X-Access-Token: ${agent.accessToken}`;
      const forged = `X-Skerry-Access: full ${'0'.repeat(64)}`;
      expect([await ask(token), await ask(), await ask('X-Access-Token: wrong')]).toEqual([
        '200',
        '401',
        '401',
      ]);
      expect([await ask(forged), await ask(forged, token)]).toEqual(['401', '401']);
      // The agent knows the hash of the token, which is no token.
      const hash = createHash('sha256').update(agent.accessToken).digest('hex');
      expect(await ask(`X-Access-Token: ${hash}`)).toBe('401');
      expect((await call('GET /envs', { token: hash })).status).toBe(401);
    });

    it('rule 5.1-3: is not asked for where none is set', async () => {
      const { plain } = await agent.another({ accessToken: null });
      for (const token of [null, 'anything']) {
        expect((await plain.call(`GET ${filesOf('/etc/hostname')}`, { token })).status).toBe(200);
        expect(
          (await plain.call(`POST ${filesOf('x')}`, { token, headers: rawBody, body: 'x' })).status,
        ).toBe(200);
        expect((await plain.call('POST /filesystem.Filesystem/Stat', { ...stat, token })).status).toBe(200);
      }
    });
  });

  describe('the user', () => {
    const message = "invalid username: 'ghost'";

    it('rule 5.1-4: of a Basic header that does not exist answers 401 with its name, also over HTTP', async () => {
      for (const who of ['ghost:', 'ghost:secret'])
        expect(await refusal('GET /files?path=/etc/hostname', { headers: basic(who) })).toEqual({
          status: 401,
          message,
        });
      const answer = await call('POST /filesystem.Filesystem/Stat', {
        ...stat,
        headers: { ...rpc, ...basic('ghost:') },
      });
      expect([answer.status, JSON.parse(answer.text)]).toEqual([401, { code: 'unauthenticated', message }]);
      const start = agent.clientOf({ user: 'ghost' }).process.start({ process: { cmd: 'true' } });
      await expect(start[Symbol.asyncIterator]().next()).rejects.toMatchObject({
        code: 16,
        rawMessage: message,
      });
    });

    it('rule 5.1-4: of a Basic header is taken whatever the password is', async () => {
      for (const password of ['', 'wrong', 'a:b']) {
        const { text } = await call('POST /filesystem.Filesystem/Stat', {
          headers: { ...rpc, ...basic(`root:${password}`) },
          body: '{"path":"~"}',
        });
        expect(JSON.parse(text)).toMatchObject({ entry: { path: agent.rootHome } });
      }
    });

    it('rule 5.1-5: of a call without Authorization is the default user', async () => {
      const output: string[] = [];
      for await (const { event } of agent.client.process.start({
        process: { cmd: 'id', args: ['-un'] },
      })) {
        const data = event?.event.case === 'data' ? event.event.value.output : undefined;
        if (data?.case === 'stdout') output.push(new TextDecoder().decode(data.value));
      }
      expect(output.join('')).toBe('user\n');
    });

    it('rule 5.1-6: of the query that does not exist answers 401 with its name', async () => {
      const route = '/files?path=a&username=ghost';
      expect(await refusal(`GET ${route}`)).toEqual({ status: 401, message });
      expect(await refusal(`POST ${route}`, { headers: rawBody, body: 'x' })).toEqual({
        status: 401,
        message,
      });
    });
  });

  describe('the checks', () => {
    it('rule 5.1-7, 10-30: answer a preflight before they ask for a token or a user', async () => {
      for (const path of ['/files', '/files/compose', '/health', '/process.Process/Start', '/nowhere']) {
        const { status, headers } = await call(`OPTIONS ${path}`, {
          token: null,
          headers: { ...preflight, ...basic('ghost:') },
        });
        expect(status).toBe(204);
        expect(headers).toMatchObject({
          'access-control-allow-origin': '*',
          'access-control-allow-methods': 'HEAD, GET, POST, PUT, PATCH, DELETE',
          'access-control-allow-headers': 'x-access-token',
          'access-control-max-age': '7200',
        });
      }
    });

    it('rule 5.1-7: ask for the token before the user, and for the user before the request', async () => {
      const headers = basic('ghost:');
      const wrong = { token: 'wrong', headers };
      expect((await refusal('GET /files?path=/etc', wrong)).message).toBe('invalid access token');
      expect((await refusal('GET /files?path=/etc', { headers })).message).toBe("invalid username: 'ghost'");
      expect((await refusal('GET /nowhere', { headers })).status).toBe(401);
      expect((await refusal('GET /files?path=/etc')).status).toBe(400);
    });

    it.each([
      ['GET /files?path=/etc', {}, 400],
      ['POST /files?path=/etc', { headers: { 'content-type': 'text/plain' }, body: 'x' }, 400],
      ['POST /files/compose', { body: '{' }, 400],
      ['GET /files?path=/etc/hostname', { token: null }, 401],
      ['GET /files?path=/missing', {}, 404],
      ['GET /nowhere', {}, 404],
      ['DELETE /files?path=/etc/hostname', {}, 405],
      ['GET /files?path=/etc/hostname', { headers: { 'accept-encoding': 'identity;q=0' } }, 406],
      ['GET /files?path=/etc/hostname', { headers: { 'if-match': '"x"' } }, 412],
      ['GET /files?path=/etc/hostname', { headers: { range: 'bytes=9999-' } }, 416],
      ['POST /files?path=/etc/hostname/x', { headers: rawBody, body: 'x' }, 500],
    ])(
      'rule 5.1-8: answer %s with an error body whose code is the status',
      async (route, options, status) => {
        // `refusal` compares the code with the status, and expects nothing but code and message.
        expect(await refusal(route, options)).toMatchObject({ status, message: expect.stringMatching(/./) });
      },
    );
  });

  describe('/health', () => {
    it('rule 5.2-1: answers 204 without a token, or with a wrong one, and may not be cached', async () => {
      for (const token of [null, 'wrong', undefined]) {
        const { status, headers, bytes } = await call('GET /health', token === undefined ? {} : { token });
        expect([status, bytes.length, headers['cache-control']]).toEqual([204, 0, 'no-store']);
      }
    });
  });

  describe('the private routes and settings of the host', () => {
    const internal = ['/init', '/freeze', '/unfreeze', '/collapse', '/fsfreeze', '/fsthaw', '/upgrade'];

    it.each([...internal, '/init/', '//init', '/x/../init', '/%69nit', '/init?a=b'])(
      'rule 5.2-8: answers 404 at the address that clients reach: %s',
      async (path) => {
        const { status, text } = await call(`POST ${path}`, { body: '{}' });
        expect([status, JSON.parse(text)]).toMatchObject([404, { code: 404, message: expect.any(String) }]);
      },
    );

    it('rule 5.2-8: does not exist on the port inside, and its socket is closed to the user', async () => {
      const script = `
import http.client, socket
for path in ${JSON.stringify(internal)}:
    c = http.client.HTTPConnection('${new URL(agent.innerUrl).host}')
    c.request('POST', path, '{}', {'X-Access-Token': '${agent.accessToken}'})
    print(c.getresponse().status)
try:
    socket.socket(socket.AF_UNIX).connect('${agent.innerSocketDir}/control.sock')
    print('open')
except PermissionError:
    print('closed')
`;
      await agent.files.write('/tmp/knock.py', script);
      const stdout = await agent.run('python3 /tmp/knock.py', 'user');
      expect(stdout).toBe(`${'404\n'.repeat(internal.length)}closed\n`);
    });

    it('rule 5.2-9: its settings hold from the first request on', async () => {
      for (let round = 0; round < 3; round += 1) {
        const made = await agent.another({ envVars: { GREETING: `hello ${round}` } });
        const [denied, output] = await Promise.all([
          made.plain.refusal(`GET ${filesOf('/etc/hostname')}`, { token: null }),
          made.run('echo $GREETING; whoami; pwd', 'user'),
        ]);
        expect([denied.status, output]).toEqual([401, `hello ${round}\nuser\n/home/user\n`]);
        await made.end();
      }
    });
  });
});
