import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Sandbox } from '@skerry/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { testAgents } from './agent-under-test.ts';
import { rawBody } from './plain-calls.ts';

interface Vector {
  title: string;
  path: string;
  operation: 'read' | 'write';
  username: string;
  token: string;
  expiration: number | null;
  signature: string;
}

const { signatures } = JSON.parse(
  readFileSync(new URL('../../../../specs/vectors/signatures.json', import.meta.url), 'utf8'),
) as { signatures: Vector[] };

testAgents(
  (agent) => {
    beforeAll(async () => {
      await agent.files.write('hello.txt', 'hello');
    });

    const { call, refusal } = agent.plain;

    /** The formula of the protocol, written out: not that of the agent and not that of the client. */
    const sign = (...parts: (string | number)[]): string =>
      `v1_${createHash('sha256').update(parts.join(':')).digest('base64').replaceAll('=', '')}`;

    interface Signed {
      path?: string;
      username?: string;
      operation?: 'read' | 'write';
      expiration?: number | string;
      token?: string;
    }

    /** The query of a link. Parameters that are absent are signed as empty. */
    const link = ({
      path,
      username,
      operation = 'read',
      expiration,
      token = agent.accessToken,
    }: Signed): string => {
      const parts = [path ?? '', operation, username ?? '', token];
      const signature = sign(...parts, ...(expiration === undefined ? [] : [expiration]));
      return `/files?${new URLSearchParams({
        ...(path === undefined ? {} : { path }),
        ...(username === undefined ? {} : { username }),
        signature,
        ...(expiration === undefined ? {} : { signature_expiration: String(expiration) }),
      })}`;
    };
    const now = (): number => Math.floor(Date.now() / 1000);
    const without = { token: null };

    describe('a signature', () => {
      it('rule 5.1-2, 10-30: stands for the token on GET and POST /files alone; /health needs neither', async () => {
        const down = link({ path: 'hello.txt' });
        expect((await call('GET /health', without)).status).toBe(204);
        expect((await call(`GET ${down}`, without)).text).toBe('hello');
        for (const route of [`HEAD ${down}`, `PUT ${down}`, `GET ${down.replace('files', 'files/')}`])
          expect((await call(route, without)).status).toBe(401);
      });

      it('rule 5.6-10: is refused at the port inside, where the token counts', async () => {
        const inside = (path: string, header = 'A: b'): Promise<string> =>
          agent.run(`curl -s -w ' %{http_code}' -H '${header}' '${agent.innerUrl}${path}'`);
        const message = 'a signature is valid at the address of the sandbox only; send X-Access-Token here';
        const signed = link({ path: 'hello.txt' });
        expect(await inside(signed)).toBe(`{"code":401,"message":"${message}"} 401`);
        expect(await inside('/files?path=hello.txt')).toBe(
          '{"code":401,"message":"missing signature query parameter"} 401',
        );
        expect(await inside(signed, `X-Access-Token: ${agent.accessToken}`)).toBe('hello 200');
      });

      it('rule 5.6-1: allows its bearer to read, or write, that one file', async () => {
        const up = link({ path: 'up.txt', operation: 'write' });
        expect((await call(`POST ${up}`, { ...without, headers: rawBody, body: 'up' })).status).toBe(200);
        expect((await call(`GET ${link({ path: 'up.txt' })}`, without)).text).toBe('up');
        // The alphabet is the standard one: some of these hold "+" or "/".
        for (let index = 0; index < 20; index += 1) {
          const route = `GET ${link({ path: '/etc/hostname', expiration: now() + 100 + index })}`;
          expect((await call(route, without)).status).toBe(200);
        }
      });

      it('rule 5.6-1: for reading does not write, for one path or user not another, of one token not another', async () => {
        const message = 'invalid signature';
        const read = link({ path: 'hello.txt' });
        const upload = { ...without, headers: rawBody, body: 'x' };
        expect(await refusal(`POST ${read}`, upload)).toEqual({ status: 401, message });
        const write = link({ path: 'hello.txt', operation: 'write' });
        expect(await refusal(`GET ${write}`, without)).toEqual({ status: 401, message });
        const bad = [
          read.replace('hello', 'hallo'),
          `${read}&username=user`,
          `${read}&signature_expiration=${now() + 60}`,
          link({ path: 'hello.txt', expiration: now() + 60 }).replace(/\d{4}$/, '9999'),
          link({ path: 'hello.txt', token: 'another' }),
          read.replace('signature=v1_', 'signature=v2_'),
          `${read}%3D`,
          read.slice(0, -1),
        ];
        for (const path of bad)
          expect(await refusal(`GET ${path}`, without), path).toEqual({ status: 401, message });
        expect(await agent.files.read('hello.txt')).toBe('hello');
      });

      it('rule 5.6-1: opens the file that was signed, however the rest of the query is spelled', async () => {
        const signature = encodeURIComponent(sign('hello.txt', 'read', 'user', agent.accessToken));
        const signed = 'path=hello.txt&username=user';
        const spellings = [
          `signature=${signature}&?path=/etc/hostname&${signed}`,
          `signature=${signature}&&?path=/etc/hostname&?username=root&${signed}`,
          `?signature=${signature}&?path=/etc/hostname&${signed}`,
          `%73ignature=${signature}&%3Fpath=/etc/hostname&${signed}&x#`,
        ];
        for (const query of spellings)
          expect((await call(`GET /files?${query}`, without)).text, query).toBe('hello');
        const doubled = [
          `?${signed}&signature=${signature}&path=/etc/hostname&username=root`,
          `%73ignature=${signature}&${signed}&x#&path=/etc/hostname`,
        ];
        for (const query of doubled)
          expect(await refusal(`GET /files?${query}`, without), query).toMatchObject({ status: 400 });
      });

      it('rule 5.6-2, 10-29: is over the values as they are in the query, not over what they mean', async () => {
        expect((await call(`GET ${link({ path: '~/hello.txt' })}`, without)).text).toBe('hello');
        expect((await call(`GET ${link({ path: 'hello.txt', username: 'user' })}`, without)).text).toBe(
          'hello',
        );
        const resolved = link({ path: '/home/user/hello.txt' }).replace('path=%2Fhome%2Fuser%2F', 'path=');
        expect(await refusal(`GET ${resolved}`, without)).toMatchObject({ status: 401 });
        // Decoded once, whatever the spelling was.
        await agent.files.write('ä b+c%20.txt', 'odd');
        const odd = link({ path: 'ä b+c%20.txt' });
        expect((await call(`GET ${odd}`, without)).text).toBe('odd');
        expect((await call(`GET ${odd.replaceAll('+', '%20')}`, without)).text).toBe('odd');
      });

      it('rule 5.6-2: takes an absent path and user as empty', async () => {
        const form =
          '--b\r\nContent-Disposition: form-data; name="file"; filename="named.txt"\r\n\r\nx\r\n--b--\r\n';
        const upload = {
          ...without,
          headers: { 'content-type': 'multipart/form-data; boundary=b' },
          body: form,
        };
        expect((await call(`POST ${link({ operation: 'write' })}`, upload)).status).toBe(200);
        expect(
          (await call(`POST ${link({ operation: 'write', path: '', username: '' })}`, upload)).status,
        ).toBe(200);
        expect(await agent.files.read('named.txt')).toBe('x');
      });

      it('rule 5.6-3: of the protocol equals the vectors when it is made by the formula', async () => {
        expect(signatures.length).toBeGreaterThan(5);
        for (const { path, operation, username, token, expiration, signature } of signatures)
          expect(sign(path, operation, username, token, ...(expiration === null ? [] : [expiration]))).toBe(
            signature,
          );
      });

      it('rule 5.6-3: of the vectors is accepted by an agent that has that token', async () => {
        const { token, signature } = signatures[0] as Vector;
        const own = await agent.another({ accessToken: token });
        await own.files.write('hello.txt', 'hello');
        const query = `path=hello.txt&username=user&signature=${encodeURIComponent(signature)}`;
        expect((await own.plain.call(`GET /files?${query}`, without)).text).toBe('hello');
        expect(await own.plain.refusal(`GET /files?${query}x`, without)).toMatchObject({ status: 401 });
      });

      it('rule 5.6-4: is neither required nor checked where no token is set', async () => {
        const { plain } = await agent.another({ accessToken: null });
        const expired = 'signature=wrong&signature_expiration=1';
        expect((await plain.call('GET /files?path=/etc/hostname', without)).status).toBe(200);
        expect((await plain.call(`GET /files?path=/etc/hostname&${expired}`, without)).status).toBe(200);
      });

      it('rule 5.6-5, 10-29: does not count next to a token header, which decides alone', async () => {
        const good = link({ path: 'hello.txt' });
        expect(await refusal(`GET ${good}`, { token: 'wrong' })).toEqual({
          status: 401,
          message: 'invalid access token',
        });
        expect(await refusal(`GET ${good}`, { token: '' })).toMatchObject({ status: 401 });
        expect((await call('GET /files?path=hello.txt&signature=wrong&signature_expiration=1')).text).toBe(
          'hello',
        );
      });

      it('rule 5.6-6, 10-29: that is missing, wrong or expired answers 401, and is checked in that order', async () => {
        const expiration = now() - 2;
        const path = 'hello.txt';
        const messageOf = async (route: string) => (await refusal(`GET ${route}`, without)).message;
        expect(await messageOf('/files?path=hello.txt')).toBe('missing signature query parameter');
        expect(await messageOf('/files?path=hello.txt&signature=')).toBe('missing signature query parameter');
        expect(await messageOf(`/files?path=hello.txt&signature_expiration=${expiration}`)).toBe(
          'missing signature query parameter',
        );
        expect(await messageOf(link({ path, expiration, token: 'wrong' }))).toBe('invalid signature');
        const { status, text, headers } = await call(`GET ${link({ path, expiration })}`, without);
        expect([status, headers['content-type'], text]).toEqual([
          401,
          'application/json',
          '{"code":401,"message":"signature is already expired"}',
        ]);
        expect(await messageOf(link({ path, expiration: 0 }))).toBe('signature is already expired');
        expect(await messageOf(link({ path, expiration: -1 }))).toBe('signature is already expired');
        expect((await call(`GET ${link({ path, expiration: now() + 5 })}`, without)).text).toBe('hello');
      });

      it.each(['soon', '1.5', '0x10', '1e9', ' 1', '', '99999999999999999999'])(
        'rule 5.6-7: with the expiration "%s", which is no integer, answers 400',
        async (expiration) => {
          const { status } = await refusal(`GET ${link({ path: 'hello.txt', expiration })}`, without);
          expect(status).toBe(400);
        },
      );
    });

    describe('a link of the SDK', () => {
      agent.needs('platform');
      const connect = () => Sandbox.connect(agent.sandboxId, agent.stack.connection);

      it('rule 5.6-3: is signed by the formula', async () => {
        const url = new URL(await (await connect()).downloadUrl('hello.txt', { user: 'user' }));
        expect(url.searchParams.get('signature')).toBe(sign('hello.txt', 'read', 'user', agent.accessToken));
        expect((await call(`GET ${url.pathname}${url.search}`, without)).text).toBe('hello');
      });

      it('rule 5.6-6: expires', async () => {
        const url = new URL(await (await connect()).downloadUrl('hello.txt', { expiresInMs: 1000 }));
        const route = `GET ${url.pathname}${url.search}`;
        expect((await call(route, without)).text).toBe('hello');
        await expect
          .poll(async () => (await call(route, without)).text)
          .toBe('{"code":401,"message":"signature is already expired"}');
      });
    });

    describe('a signature without a token', () => {
      // The test writes below /root and /etc.
      agent.needs('sandbox');

      it('rule 5.6-8: decides which user it is for; a Basic header next to it does not count', async () => {
        const headers = { authorization: `Basic ${btoa('root:')}` };
        const up = link({ path: 'chosen.txt', operation: 'write' });
        const request = { ...without, headers: { ...rawBody, ...headers }, body: 'x' };
        const { status, text } = await call(`POST ${up}`, request);
        expect([status, JSON.parse(text)]).toMatchObject([200, [{ path: '/home/user/chosen.txt' }]]);
        expect(await agent.files.exists('/root/chosen.txt')).toBe(false);
        expect((await call(`GET ${link({ path: 'chosen.txt' })}`, { ...without, headers })).text).toBe('x');
        const unknown = { authorization: `Basic ${btoa('nobody-here:')}` };
        expect(
          (await call(`GET ${link({ path: 'chosen.txt' })}`, { ...without, headers: unknown })).text,
        ).toBe('x');
        const rooted = link({ path: 'of-root.txt', username: 'root', operation: 'write' });
        const asUser = { ...rawBody, authorization: `Basic ${btoa('user:')}` };
        const { text: written } = await call(`POST ${rooted}`, { ...without, headers: asUser, body: 'x' });
        expect(JSON.parse(written)).toMatchObject([{ path: '/root/of-root.txt' }]);
      });

      it.each(['/etc/cron.d/evil', '../evil', 'a/../../evil', '~/evil', '~root/evil', '..'])(
        'rule 5.6-9: of an empty path does not write a part named "%s"',
        async (filename) => {
          const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="${filename}"\r\n\r\nx\r\n--b--\r\n`;
          const headers = { 'content-type': 'multipart/form-data; boundary=b' };
          const up = link({ path: '', operation: 'write' });
          const refused = await refusal(`POST ${up}`, { ...without, headers, body: form });
          expect(refused).toMatchObject({ status: 400, message: expect.stringContaining('signed path') });
          expect(await agent.run('find / -xdev -name evil 2>/dev/null || true')).toBe('');
          // The token of the sandbox may name any path.
          if (filename.startsWith('/')) {
            const byToken = await call('POST /files', { headers, body: form });
            expect(byToken.status).toBe(200);
            await agent.run(`rm ${filename}`);
          }
        },
      );
    });
  },
  { hasEdge: true },
);
