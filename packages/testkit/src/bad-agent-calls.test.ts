import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Code, ConnectError } from '@connectrpc/connect';
import { createEnvdClient } from '@skerry/envd-client';
import { Sandbox, SandboxError, SandboxUnavailableError } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, type StackSandbox, startStack, toRouting } from './stack.ts';

let stack: Stack;
let sandbox: StackSandbox;
let sdk: Sandbox;
beforeAll(async () => {
  stack = await startStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
  sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
});
afterAll(() => stack.down());

interface Call {
  body?: BodyInit;
  headers?: Record<string, string>;
  token?: string | undefined;
}

/** One plain request to the agent through the edge. */
const call = async (route: string, { body, headers = {}, token = sandbox.accessToken }: Call = {}) => {
  const [method = '', path = ''] = route.split(' ');
  const response = await fetch(stack.address.sandboxUrl + path, {
    method,
    headers: { ...toRouting(sandbox.sandboxId), ...(token ? { 'X-Access-Token': token } : {}), ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await response.text();
  return { status: response.status, type: response.headers.get('content-type'), text };
};
/** The status and message of an answer that must be the JSON error of the agent. */
const refusal = async (route: string, options?: Call) => {
  const { status, type, text } = await call(route, options);
  expect(type).toMatch(/^application\/json/);
  const { code, message } = JSON.parse(text) as { code: number; message: string };
  expect(code).toBe(status);
  return { status, message };
};
const raw = { 'content-type': 'application/octet-stream' };
const rpc = { 'content-type': 'application/json', 'connect-protocol-version': '1' };
const codeOf = async (promise: Promise<unknown>): Promise<{ code: string; message: string }> => {
  const error: unknown = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  const { code, rawMessage } = ConnectError.from(error);
  return { code: error === undefined ? 'none' : (Code[code] ?? ''), message: rawMessage };
};
const run = async (cmd: string, args: string[] = [], more: { cwd?: string; user?: string } = {}) => {
  const { user, ...config } = more;
  const agent = createEnvdClient({
    baseUrl: stack.address.sandboxUrl,
    accessToken: sandbox.accessToken,
    headers: toRouting(sandbox.sandboxId),
    ...(user === undefined ? {} : { user }),
  });
  const seen: string[] = [];
  let exitCode: number | undefined;
  for await (const { event } of agent.process.start({ process: { cmd, args, ...config } })) {
    seen.push(event?.event.case ?? '');
    if (event?.event.case === 'end') exitCode = event.event.value.exitCode;
  }
  return { seen: [...new Set(seen)], exitCode };
};

describe('the access token', () => {
  it.each([
    ['missing', ''],
    ['wrong', '0'.repeat(64)],
    ['of another length', 'x'],
  ])(
    'that is %s gives 401 on files and unauthenticated on calls, but not on /health',
    async (_title, token) => {
      expect(await refusal('GET /files?path=/etc/hostname', { token })).toMatchObject({ status: 401 });
      expect(await refusal('POST /files?path=/tmp/x', { token, headers: raw, body: 'x' })).toMatchObject({
        status: 401,
      });
      const answer = await call('POST /filesystem.Filesystem/Stat', {
        token,
        headers: rpc,
        body: '{"path":"/"}',
      });
      expect(answer.status).toBe(401);
      const agent = createEnvdClient({
        baseUrl: stack.address.sandboxUrl,
        headers: toRouting(sandbox.sandboxId),
        accessToken: token,
      });
      expect(await codeOf(agent.filesystem.stat({ path: '/' }))).toMatchObject({ code: 'Unauthenticated' });
      expect((await call('GET /health', { token })).status).toBe(204);
      expect(await sdk.files.exists('/tmp/x')).toBe(false);
    },
  );

  it('of one sandbox does not open another', async () => {
    const other = await stack.createSandbox();
    const { accessToken: token } = other;
    expect(token).not.toBe(sandbox.accessToken);
    expect(await refusal('GET /files?path=/etc/hostname', { token })).toMatchObject({ status: 401 });
    await other.kill();
  });

  it('is overruled by no signature', async () => {
    const url = new URL(await sdk.downloadUrl('/etc/hostname'));
    expect(await refusal(`GET ${url.pathname}${url.search}`, { token: 'wrong' })).toMatchObject({
      status: 401,
    });
  });
});

describe('an unknown user', () => {
  it('gives 401 and unauthenticated, with the name in the message', async () => {
    const message = "invalid username: 'ghost'";
    expect(await refusal('GET /files?path=a&username=ghost')).toEqual({ status: 401, message });
    expect(await refusal('POST /files?path=a&username=ghost', { headers: raw, body: 'x' })).toEqual({
      status: 401,
      message,
    });
    expect(await codeOf(run('true', [], { user: 'ghost' }))).toEqual({ code: 'Unauthenticated', message });
  });
});

describe('files', () => {
  it.each([
    ['GET /files?path=/etc', 400],
    ['GET /files?path=~other/x', 400],
    ['GET /files?path=/etc/missing', 404],
    ['GET /files?path=/etc/hostname/x', 404],
    ['GET /files?path=/etc/hostname&signature_expiration=soon', 200],
  ])('%s gives %i', async (route, status) => {
    expect((await call(route)).status).toBe(status);
  });

  it('refuses a download whose encodings it cannot make, listing those that it can', async () => {
    const answer = await refusal('GET /files?path=/etc/hostname', {
      headers: { 'accept-encoding': 'identity;q=0, br' },
    });
    expect(answer).toEqual({ status: 406, message: expect.stringMatching(/identity.*gzip/) });
  });

  it('refuses an upload to a directory with 400 and below a file with 500, and changes neither', async () => {
    await sdk.files.write('/tmp/plain', 'kept');
    const upload = { headers: raw, body: 'new' };
    expect(await refusal('POST /files?path=/tmp', upload)).toMatchObject({ status: 400 });
    expect(await refusal('POST /files?path=/tmp/plain/below', upload)).toMatchObject({ status: 500 });
    expect(await sdk.files.read('/tmp/plain')).toBe('kept');
    expect(await codeOf(sandbox.agent.filesystem.makeDir({ path: '/tmp/plain' }))).toMatchObject({
      code: 'InvalidArgument',
    });
    expect(await codeOf(sandbox.agent.filesystem.makeDir({ path: '/tmp/plain/below' }))).toMatchObject({
      code: 'Internal',
    });
    expect(await codeOf(sandbox.agent.filesystem.listDir({ path: '/tmp/plain' }))).toMatchObject({
      code: 'InvalidArgument',
    });
    expect(await codeOf(sandbox.agent.filesystem.stat({ path: '/tmp/missing' }))).toMatchObject({
      code: 'NotFound',
    });
    expect(await codeOf(sandbox.agent.filesystem.makeDir({ path: '/tmp' }))).toMatchObject({
      code: 'AlreadyExists',
    });
  });

  const form = { 'content-type': 'multipart/form-data; boundary=b' };
  const part = (name: string, content: string): string =>
    `--b\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n${content}\r\n`;

  it.each([
    ['no content type', {}, new Uint8Array([1])],
    ['another content type', { 'content-type': 'application/json' }, '{}'],
    ['a form without a boundary', { 'content-type': 'multipart/form-data' }, '--b--\r\n'],
    [
      'a form that ends in the middle',
      form,
      '--b\r\nContent-Disposition: form-data; name="file"; filename="/tmp/cut"\r\n\r\nhal',
    ],
    [
      'a form without a file',
      form,
      '--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--b--\r\n',
    ],
    ['a form that is none', form, 'nothing of the kind'],
    ['a raw body that is not the gzip it claims to be', { ...raw, 'content-encoding': 'gzip' }, 'plain'],
    ['an encoding that nobody knows', { ...raw, 'content-encoding': 'br' }, 'plain'],
  ])('refuses an upload with %s', async (title, headers, body) => {
    const path = title.startsWith('a form') ? '' : '?path=/tmp/refused';
    expect(
      await refusal(`POST /files${path}`, { headers: headers as Record<string, string>, body }),
    ).toMatchObject({
      status: 400,
    });
  });

  it('refuses a raw upload without a path', async () => {
    expect(await refusal('POST /files', { headers: raw, body: 'x' })).toMatchObject({ status: 400 });
  });

  it('refuses the second of two parts with one target and keeps the first', async () => {
    const body = `${part('/tmp/twice', 'first')}${part('/tmp/twice', 'second')}--b--\r\n`;
    expect(await refusal('POST /files', { headers: form, body })).toMatchObject({ status: 400 });
    expect(await sdk.files.read('/tmp/twice')).toBe('first');
  });

  it('answers 507 when the disk is full, and goes on working when there is room again', async () => {
    const full = await stack.createSandbox();
    const inside = await Sandbox.connect(full.sandboxId, stack.connection);
    // Reserved and not written: full within a moment, except for 2 MiB.
    await inside.commands.run(
      'fallocate -l $(( $(df --output=avail -B1 . | tail -1) - (2 << 20) )) /home/user/big',
    );
    const agent = { ...toRouting(full.sandboxId), 'X-Access-Token': full.accessToken };
    const response = await fetch(`${stack.address.sandboxUrl}/files?path=more`, {
      method: 'POST',
      headers: { ...agent, ...raw },
      body: randomBytes(8 << 20),
    });
    expect(response.status).toBe(507);
    expect(await response.json()).toMatchObject({ code: 507 });
    await expect(inside.files.write('more', randomBytes(8 << 20))).rejects.toMatchObject({
      code: 'insufficient_storage',
    });
    expect(await inside.files.read('/etc/hostname')).not.toBe('');
    await inside.files.remove('/home/user/big');
    await inside.files.write('more', 'fits');
    expect(await inside.files.read('more')).toBe('fits');
    await full.kill();
  });
});

describe('a sandbox that is killed in the middle', () => {
  const doomed = async (): Promise<{ sandbox: StackSandbox; sdk: Sandbox }> => {
    const made = await stack.createSandbox();
    return { sandbox: made, sdk: await Sandbox.connect(made.sandboxId, stack.connection) };
  };

  it('of a command and of a watch ends both with an error that says so', async () => {
    const target = await doomed();
    const command = await target.sdk.commands.run('while sleep 0.1; do echo tick; done', {
      background: true,
    });
    const watch = await target.sdk.files.watchDir('/tmp');
    const watching = watch[Symbol.asyncIterator]().next();
    for await (const _ of command) break;
    const failures = Promise.allSettled([command.wait(), watching]);
    await target.sandbox.kill();
    for (const failure of await failures)
      expect(failure).toMatchObject({ status: 'rejected', reason: expect.any(SandboxUnavailableError) });
  });

  it('of a download breaks the download off', async () => {
    const target = await doomed();
    await target.sdk.commands.run('truncate -s 1G /tmp/big');
    const stream = await target.sdk.files.read('/tmp/big', { format: 'stream' });
    let bytes = 0;
    const reading = (async () => {
      for await (const chunk of stream) {
        if (bytes === 0) await target.sandbox.kill();
        bytes += chunk.length;
      }
    })();
    await expect(reading).rejects.toThrow(Error);
    expect(bytes).toBeLessThan(1 << 30);
  });

  it('of an upload rejects the upload', async () => {
    const target = await doomed();
    const chunk = new Uint8Array(1 << 16);
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (++sent === 50) await target.sandbox.kill();
        // Lets the broken connection be noticed: a source that never waits starves the event loop.
        await delay(1);
        controller.enqueue(chunk);
      },
    });
    await expect(target.sdk.files.write('/tmp/endless', endless)).rejects.toThrow(SandboxError);
  });

  it('leaves the others alone', async () => {
    expect(await sdk.isRunning()).toBe(true);
    expect((await sdk.commands.run('echo alive')).stdout).toBe('alive\n');
  });
});
