import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';
import { createPlainCalls, rawBody } from './plain-calls.ts';

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

let stack: SharedStack;
let sandbox: StackSandbox;
let sdk: Sandbox;
beforeAll(async () => {
  stack = await joinStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
  sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
  await sdk.files.write('hello.txt', 'hello');
});
afterAll(() => stack.leave());

const { call, refusal } = createPlainCalls(() => ({ stack, sandbox }));

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
  token = sandbox.accessToken,
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
  it('rule 5.6-1: lets its bearer read, or write, that one file', async () => {
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
    expect(await sdk.files.read('hello.txt')).toBe('hello');
  });

  it('rule 5.6-2, 10-29: is over the values as they are in the query, not over what they mean', async () => {
    expect((await call(`GET ${link({ path: '~/hello.txt' })}`, without)).text).toBe('hello');
    expect((await call(`GET ${link({ path: 'hello.txt', username: 'user' })}`, without)).text).toBe('hello');
    const resolved = link({ path: '/home/user/hello.txt' }).replace('path=%2Fhome%2Fuser%2F', 'path=');
    expect(await refusal(`GET ${resolved}`, without)).toMatchObject({ status: 401 });
    // Decoded once, whatever the spelling was.
    await sdk.files.write('ä b+c%20.txt', 'odd');
    const odd = link({ path: 'ä b+c%20.txt' });
    expect((await call(`GET ${odd}`, without)).text).toBe('odd');
    expect((await call(`GET ${odd.replaceAll('+', '%20')}`, without)).text).toBe('odd');
  });

  it('rule 5.6-2: takes an absent path and user as empty', async () => {
    const form =
      '--b\r\nContent-Disposition: form-data; name="file"; filename="named.txt"\r\n\r\nx\r\n--b--\r\n';
    const upload = { ...without, headers: { 'content-type': 'multipart/form-data; boundary=b' }, body: form };
    expect((await call(`POST ${link({ operation: 'write' })}`, upload)).status).toBe(200);
    expect((await call(`POST ${link({ operation: 'write', path: '', username: '' })}`, upload)).status).toBe(
      200,
    );
    expect(await sdk.files.read('named.txt')).toBe('x');
  });

  it('rule 5.6-3: of the protocol comes out as written, by the formula and by the SDK', async () => {
    expect(signatures.length).toBeGreaterThan(5);
    for (const { path, operation, username, token, expiration, signature } of signatures)
      expect(sign(path, operation, username, token, ...(expiration === null ? [] : [expiration]))).toBe(
        signature,
      );
    const url = new URL(await sdk.downloadUrl('hello.txt', { user: 'user' }));
    expect(url.searchParams.get('signature')).toBe(sign('hello.txt', 'read', 'user', sandbox.accessToken));
    expect((await call(`GET ${url.pathname}${url.search}`, without)).text).toBe('hello');
  });

  it('rule 5.6-3: of the vectors opens a sandbox that has that token', async () => {
    const { data } = await stack.api.POST('/sandboxes', { body: { templateID: 'base' } });
    const own = { sandboxId: data?.sandboxID ?? '', accessToken: data?.envdAccessToken ?? '' };
    const inside = await Sandbox.connect(own.sandboxId, stack.connection);
    await inside.files.write('hello.txt', 'hello');
    // Root inside may set up its own agent; nobody else can.
    const { token, signature } = signatures[0] as Vector;
    await inside.commands.run(
      `python3 -c "
import socket, json
body = json.dumps({'accessToken': '${token}'}).encode()
s = socket.socket(socket.AF_UNIX)
s.connect('/run/envd/control.sock')
s.sendall(b'POST /init HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n' % len(body) + body)
assert b' 204 ' in s.recv(100)
"`,
      { user: 'root' },
    );
    const plain = createPlainCalls(() => ({ stack, sandbox: own }));
    const query = `path=hello.txt&username=user&signature=${encodeURIComponent(signature)}`;
    expect((await plain.call(`GET /files?${query}`, without)).text).toBe('hello');
    expect(await plain.refusal(`GET /files?${query}x`, without)).toMatchObject({ status: 401 });
  });

  it('rule 5.6-4: is not asked for where no token is set, and not looked at', async () => {
    const { data } = await stack.api.POST('/sandboxes', { body: { templateID: 'base', secure: false } });
    const open = { sandboxId: data?.sandboxID ?? '', accessToken: '' };
    const plain = createPlainCalls(() => ({ stack, sandbox: open }));
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

  it('rule 5.6-6, 10-29: that is missing, wrong or expired is told in that order, each with 401', async () => {
    const expiration = now() - 2;
    const path = 'hello.txt';
    const told = async (route: string) => (await refusal(`GET ${route}`, without)).message;
    expect(await told('/files?path=hello.txt')).toBe('missing signature query parameter');
    expect(await told('/files?path=hello.txt&signature=')).toBe('missing signature query parameter');
    expect(await told(`/files?path=hello.txt&signature_expiration=${expiration}`)).toBe(
      'missing signature query parameter',
    );
    expect(await told(link({ path, expiration, token: 'wrong' }))).toBe('invalid signature');
    const { status, text, headers } = await call(`GET ${link({ path, expiration })}`, without);
    expect([status, headers['content-type'], text]).toEqual([
      401,
      'application/json',
      '{"code":401,"message":"signature is already expired"}',
    ]);
    expect(await told(link({ path, expiration: 0 }))).toBe('signature is already expired');
    expect(await told(link({ path, expiration: -1 }))).toBe('signature is already expired');
    expect((await call(`GET ${link({ path, expiration: now() + 5 })}`, without)).text).toBe('hello');
  });

  it('rule 5.6-6: expires for a link of the SDK too', async () => {
    const url = new URL(await sdk.downloadUrl('hello.txt', { expiresInMs: 1000 }));
    const route = `GET ${url.pathname}${url.search}`;
    expect((await call(route, without)).text).toBe('hello');
    await expect
      .poll(async () => (await call(route, without)).text)
      .toBe('{"code":401,"message":"signature is already expired"}');
  });

  it.each(['soon', '1.5', '0x10', '1e9', ' 1', '', '99999999999999999999'])(
    'rule 5.6-7: with the expiration "%s", which is no integer, gives 400',
    async (expiration) => {
      const { status } = await refusal(`GET ${link({ path: 'hello.txt', expiration })}`, without);
      expect(status).toBe(400);
    },
  );
});
