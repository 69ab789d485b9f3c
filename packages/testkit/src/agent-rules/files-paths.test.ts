import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';
import { createPlainCalls, filesOf, rawBody } from './plain-calls.ts';

let stack: SharedStack;
let sandbox: StackSandbox;
let sdk: Sandbox;
beforeAll(async () => {
  stack = await joinStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
  sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
});
afterAll(() => stack.leave());

const { call, get, put, refusal } = createPlainCalls(() => ({ stack, sandbox }));
const run = async (script: string): Promise<string> =>
  (await sdk.commands.run(script, { user: 'root' })).stdout;
const pathOf = async (path: string): Promise<string | undefined> =>
  (await sandbox.agent.filesystem.stat({ path })).entry?.path;
const upload = { headers: rawBody, body: 'x' };

describe('a path', () => {
  it('rule 5.3-1, 10-24: that is empty is the home, as there is no default directory', async () => {
    expect(await pathOf('')).toBe('/home/user');
    expect((await refusal('GET /files')).message).toBe('path "/home/user" is a directory');
    expect((await refusal('GET /files?username=root')).message).toBe('path "/root" is a directory');
  });

  it('rule 5.3-1, 10-24: that is empty is the default directory where one is set, any other starts at the home', async () => {
    const other = await stack.createSandbox();
    const inside = await Sandbox.connect(other.sandboxId, stack.connection);
    // Root inside may set up its own agent; nobody else can.
    const script = `import socket
s = socket.socket(socket.AF_UNIX)
s.connect('/run/envd/control.sock')
s.sendall(b'POST /init HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 27\\r\\n\\r\\n{"defaultWorkdir":"/var/x"}')
assert b' 204 ' in s.recv(100)`;
    await inside.files.write('/tmp/set-up.py', script);
    await inside.commands.run('mkdir /var/x && python3 /tmp/set-up.py', { user: 'root' });
    expect(await inside.files.getInfo('')).toMatchObject({ path: '/var/x' });
    expect(await inside.files.getInfo('.')).toMatchObject({ path: '/home/user' });
    expect((await inside.files.write('a', 'x')).path).toBe('/home/user/a');
    await other.kill();
  });

  it('rule 5.3-2: that is ~, or begins with ~/, is the home of the user of the request', async () => {
    expect(await pathOf('~')).toBe('/home/user');
    expect((await put('~/tilde/a', 'x')).text).toContain('"path":"/home/user/tilde/a"');
    await call('POST /files?path=~/b&username=root', upload);
    expect(await run('cat /root/b')).toBe('x');
    expect((await call('GET /files?path=~/b&username=root')).text).toBe('x');
    expect((await call('GET /files?path=~/b')).status).toBe(404);
  });

  it.each(['~root', '~root/x', '~user/x', '~~'])('rule 5.3-3: that is %s is refused', async (path) => {
    expect(await refusal(`GET ${filesOf(path)}`)).toMatchObject({ status: 400 });
    expect(await refusal(`POST ${filesOf(path)}`, upload)).toMatchObject({ status: 400 });
    // InvalidArgument
    await expect(sandbox.agent.filesystem.stat({ path })).rejects.toMatchObject({ code: 3 });
    await expect(sandbox.agent.filesystem.makeDir({ path })).rejects.toMatchObject({ code: 3 });
  });

  it('rule 5.3-4, 10-24: is taken as it is when absolute, and starts at the home otherwise', async () => {
    const written = async (route: string) => JSON.parse((await call(`POST ${route}`, upload)).text)[0].path;
    expect(await written('/files?path=/tmp/absolute')).toBe('/tmp/absolute');
    expect(await written('/files?path=relative/a')).toBe('/home/user/relative/a');
    expect(await written('/files?path=./relative/../b')).toBe('/home/user/b');
    expect(await written('/files?path=relative/a&username=root')).toBe('/root/relative/a');
    expect(await written('/files?path=../up')).toBe('/home/up');
    // Only at its beginning does a tilde mean anything.
    expect(await written('/files?path=a~/~b')).toBe('/home/user/a~/~b');
  });

  it('rule 5.3-5: is read and written with the rights of the agent, whoever the user is', async () => {
    await run('mkdir -m 700 /root/secret && echo -n mine > /root/secret/file && chmod 600 /root/secret/file');
    expect((await call('GET /files?path=/root/secret/file&username=user')).text).toBe('mine');
    expect((await call('POST /files?path=/root/secret/new&username=user', upload)).status).toBe(200);
    expect((await call('POST /files?path=/root/secret/file&username=user', upload)).status).toBe(200);
    // What is made belongs to the user, what was there to whom it belonged.
    expect(await run('stat -c "%a %U %G" /root/secret/new /root/secret/file')).toBe(
      '644 user user\n600 root root\n',
    );
  });

  it('rule 5.3-6: gets its missing parents with mode 0755, and they belong to the user', async () => {
    await call('POST /files?path=/opt/p/q/r/file&username=user', upload);
    await call('POST /files?path=/opt/p/root/s/file&username=root', upload);
    await sdk.files.makeDir('/opt/p/made/t');
    expect(
      await run('stat -c "%n %a %U %G" /opt/p /opt/p/q /opt/p/q/r /opt/p/root /opt/p/root/s /opt/p/made/t'),
    ).toBe(
      [
        '/opt/p 755 user user',
        '/opt/p/q 755 user user',
        '/opt/p/q/r 755 user user',
        '/opt/p/root 755 root root',
        '/opt/p/root/s 755 root root',
        '/opt/p/made/t 755 user user',
        '',
      ].join('\n'),
    );
    expect(await run('stat -c "%U" /opt')).toBe('root\n');
  });

  it('rule 5.3-7: with a file where a parent should be gives 500 and internal, and leaves it', async () => {
    await sdk.files.write('/tmp/plain', 'kept');
    for (const path of ['/tmp/plain/below', '/tmp/plain/further/below'])
      expect(await refusal(`POST ${filesOf(path)}`, upload)).toMatchObject({ status: 500 });
    // Internal
    await expect(sandbox.agent.filesystem.makeDir({ path: '/tmp/plain/below' })).rejects.toMatchObject({
      code: 13,
    });
    expect(await sdk.files.read('/tmp/plain')).toBe('kept');
  });

  it('rule 5.4-1: that holds a NUL byte, is too long or leads in circles gives 400', async () => {
    await run('ln -sfn circle /tmp/circle');
    const bad = [
      '/tmp/a\0b',
      `/tmp/${'x'.repeat(256)}`,
      `/${'x/'.repeat(2100)}`,
      '/tmp/circle',
      '/tmp/circle/a',
    ];
    for (const path of bad) {
      const title = path.slice(0, 20);
      expect(await refusal(`GET ${filesOf(path)}`), title).toMatchObject({ status: 400 });
      expect(await refusal(`POST ${filesOf(path)}`, upload), title).toMatchObject({ status: 400 });
    }
    expect((await put(`/tmp/${'x'.repeat(255)}`, 'x')).status).toBe(200);
    expect((await get(`/tmp/${'x'.repeat(255)}`)).text).toBe('x');
  });
});
