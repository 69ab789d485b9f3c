import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { get } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buffer, text } from 'node:stream/consumers';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { runSkerry, startSkerry } from './run-skerry.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

/** The arguments of `skerry sandbox VERB` on this stack. */
const sandbox = (verb: string, ...rest: string[]): string[] => [
  'sandbox',
  verb,
  '--data',
  stack.dataDir,
  ...rest,
];

const firstLine = async (child: ChildProcess): Promise<string> => {
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  return line;
};

describe('skerry sandbox run', () => {
  it('creates a sandbox, passes streams and variables, ends with the status of the command and removes the sandbox', async () => {
    const command = ['--metadata', 'of=run', '-e', 'WHO=me', '-i', '--', 'cat; echo "$WHO" >&2; exit 7'];
    expect(await runSkerry(sandbox('run', ...command), { input: 'in\n' })).toEqual({
      code: 7,
      stdout: 'in\n',
      stderr: 'me\n',
    });
    expect(await runSkerry(sandbox('list', '-q', '--metadata', 'of=run'))).toMatchObject({
      code: 0,
      stdout: '',
    });
  });

  it('ends with 124 when the command outlives its time, and with 125 when the sandbox cannot be made', async () => {
    const late = await runSkerry(sandbox('run', '--timeout', '1s', '--', 'sleep', '100'));
    expect(late).toMatchObject({ code: 124, stderr: 'skerry: the command was killed after 1 s\n' });
    const unknown = await runSkerry(sandbox('run', '--template', 'no-such', '--', 'true'));
    expect(unknown).toMatchObject({ code: 125, stderr: expect.stringContaining('no-such') });
    expect(await runSkerry(sandbox('run', '--no-such-option'))).toMatchObject({ code: 125 });
  });

  it('removes the sandbox when it is interrupted, and ends with 130', async () => {
    const child = startSkerry(sandbox('run', '--metadata', 'of=interrupt', '--', 'echo ready; sleep 100'));
    expect(await firstLine(child)).toBe('ready');
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
    expect(await runSkerry(sandbox('list', '-q', '--metadata', 'of=interrupt'))).toMatchObject({
      stdout: '',
    });
  });
});

describe('skerry sandbox exec', () => {
  it('interrupts the whole command at the first Ctrl-C and kills it at the second', async () => {
    const { sandboxId } = await stack.createSandbox();
    const stubborn = startSkerry(
      sandbox('exec', sandboxId, '--', 'trap "echo again" INT; echo ready; while :; do sleep 0.1; done'),
    );
    const lines = createInterface({ input: stubborn.stdout as NodeJS.ReadableStream })[
      Symbol.asyncIterator
    ]();
    expect((await lines.next()).value).toBe('ready');
    stubborn.kill('SIGINT');
    expect((await lines.next()).value).toBe('again');
    stubborn.kill('SIGINT');
    expect(await once(stubborn, 'exit')).toEqual([137, null]);
  });

  it('ends with 124 when the command outlives its time, which kills it and leaves the sandbox', async () => {
    const { sandboxId } = await stack.createSandbox();
    const late = await runSkerry(
      sandbox('exec', '--timeout', '1s', sandboxId, '--', 'exec -a late sleep 100'),
    );
    expect(late).toEqual({ code: 124, stdout: '', stderr: 'skerry: the command was killed after 1 s\n' });
    const left = await runSkerry(
      sandbox('exec', '--timeout', '1h', sandboxId, '--', 'pgrep -c -x late || true'),
    );
    expect(left).toMatchObject({ code: 0, stdout: '0\n' });
  });

  it('ends with 127 for a program that does not exist, and with 126 for a file that is none', async () => {
    const { sandboxId } = await stack.createSandbox();
    expect(await runSkerry(sandbox('exec', sandboxId, '--', 'no-such-program', 'x'))).toMatchObject({
      code: 127,
      stderr: expect.stringContaining('no-such-program'),
    });
    expect(await runSkerry(sandbox('exec', sandboxId, '--', '/etc/passwd', 'x'))).toMatchObject({
      code: 126,
    });
    expect(await runSkerry(sandbox('run', '--', 'no-such-program'))).toMatchObject({ code: 127 });
  });

  it('prints output and status as one object with --json, and ends with that status', async () => {
    const { sandboxId } = await stack.createSandbox();
    const command = ['-i', sandboxId, '--', 'cat; echo err >&2; exit 4'];
    const { code, stdout, stderr } = await runSkerry(sandbox('exec', '--json', ...command), {
      input: 'in\n',
    });
    expect([code, stderr]).toEqual([4, '']);
    expect(JSON.parse(stdout)).toEqual({ sandboxId, exitCode: 4, stdout: 'in\n', stderr: 'err\n' });
    const late = await runSkerry(
      sandbox('exec', '--json', '--timeout', '1s', sandboxId, '--', 'echo a; sleep 9'),
    );
    expect([late.code, JSON.parse(late.stdout)]).toMatchObject([124, { exitCode: 124, stdout: 'a\n' }]);
    expect(await runSkerry(sandbox('exec', '--json', '-t', sandboxId))).toMatchObject({
      code: 125,
      stdout: '',
    });
  });

  it('ends with 128 and the number of the signal that ended the command', async () => {
    const { sandboxId } = await stack.createSandbox();
    expect(await runSkerry(sandbox('exec', sandboxId, '--', 'kill -SEGV $$'))).toMatchObject({ code: 139 });
  });

  it('passes input and both outputs on byte by byte', async () => {
    const { sandboxId } = await stack.createSandbox();
    const input = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7 + (at >> 8)) & 0xff));
    const child = startSkerry(sandbox('exec', '-i', sandboxId, '--', 'tee /dev/stderr'));
    child.stdin?.end(input);
    const [stdout, stderr] = await Promise.all([
      buffer(child.stdout as NodeJS.ReadableStream),
      buffer(child.stderr as NodeJS.ReadableStream),
    ]);
    expect([stdout.equals(input), stderr.equals(input)]).toEqual([true, true]);
  });

  it('ends although its standard input stays open', async () => {
    const { sandboxId } = await stack.createSandbox();
    const child = startSkerry(sandbox('exec', '-i', sandboxId, '--', 'head -n 1'));
    child.stdin?.write('one\n');
    expect(await text(child.stdout as NodeJS.ReadableStream)).toBe('one\n');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('ends without a word, and kills the command, when the reader of its output has gone', async () => {
    const { sandboxId } = await stack.createSandbox();
    const child = startSkerry(sandbox('exec', sandboxId, '--', 'exec -a chatter yes'));
    child.stdout?.once('data', () => child.stdout?.destroy());
    const [complaint, [code]] = await Promise.all([
      text(child.stderr as NodeJS.ReadableStream),
      once(child, 'exit') as Promise<[number]>,
    ]);
    expect([code, complaint]).toEqual([141, '']);
    const left = await runSkerry(sandbox('exec', sandboxId, '--', 'pgrep -c -x chatter || true'));
    expect(left.stdout).toBe('0\n');
  });
});

describe('skerry sandbox list, info and kill', () => {
  it('prints a table, objects or ids, and kills all', async () => {
    const one = await stack.createSandbox({ metadata: { name: 'first\u001b[2J' } });
    const two = await stack.createSandbox();
    const { stdout: table } = await runSkerry(sandbox('list'));
    expect(table).toMatch(/^ID +TEMPLATE +STATE +AGE +ENDS IN +METADATA\n/);
    expect(table).toMatch(
      new RegExp(`^${one.sandboxId}  base +running +\\d+s +\\dm +name=first\\\\x1b\\[2J$`, 'm'),
    );
    const { stdout: ids } = await runSkerry(sandbox('list', '--quiet', '--state', 'running'));
    expect(ids.split('\n')).toEqual(expect.arrayContaining([one.sandboxId, two.sandboxId]));
    const { stdout: info } = await runSkerry(sandbox('info', two.sandboxId));
    expect(info).toMatch(
      /^id +i\w+\ntemplate +base\nstate +running\nstarted +.* \d+s ago\nends +.*Z, in \d+\w+, and is removed then\ncpu +2\nmemory +\d+ MiB\n/,
    );
    const { stdout: json } = await runSkerry(sandbox('info', '--json', two.sandboxId));
    expect(JSON.parse(json)).toMatchObject({ sandboxId: two.sandboxId, state: 'running' });
    const killed = await runSkerry(sandbox('kill', '--all'));
    expect(killed.stdout.split('\n')).toEqual(expect.arrayContaining([one.sandboxId, two.sandboxId]));
    expect((await runSkerry(sandbox('list'))).stdout).toBe('ID  TEMPLATE  STATE  AGE  ENDS IN  METADATA\n');
    expect(await runSkerry(sandbox('kill'))).toMatchObject({
      code: 1,
      stderr: 'skerry: name the sandboxes, or give --all\n',
    });
  });

  it('leaves a paused sandbox paused when it is shown', async () => {
    const { sandboxId } = await stack.createSandbox();
    await Sandbox.pause(sandboxId, { ...stack.connection, memory: false });
    expect((await runSkerry(sandbox('info', sandboxId))).stdout).toMatch(/^ends +never while paused$/m);
    expect((await runSkerry(sandbox('list'))).stdout).toMatch(
      new RegExp(`^${sandboxId}  base +paused +\\d+s +-$`, 'm'),
    );
    expect((await runSkerry(sandbox('explain', sandboxId))).stdout).toMatch(
      /^where {4}the machine of the server\nlevel {4}container\n\S+Z {2}sandbox started\n\S+Z {2}sandbox paused\n$/,
    );
    expect(await runSkerry(sandbox('explain', 'inone'))).toMatchObject({ code: 1 });
  });
});

/** Takes one upgrade and answers each piece in capitals. */
const upgrade = `
import socket
server = socket.create_server(("0.0.0.0", 8080), reuse_port=True)
print("listening")
peer = server.accept()[0]
head = b""
while not head.endswith(b"\\r\\n\\r\\n"):
    head += peer.recv(1)
peer.send(b"HTTP/1.1 101 Switching Protocols\\r\\nConnection: Upgrade\\r\\nUpgrade: shout\\r\\n\\r\\n")
while piece := peer.recv(1000):
    peer.send(piece.upper())
`;

describe('skerry sandbox url and port open', () => {
  it('serves a port of the sandbox on this machine, WebSockets too, until it is interrupted', async () => {
    const { sandboxId: id } = await stack.createSandbox();
    const url = (await runSkerry(sandbox('url', id, '8080'))).stdout;
    expect(url).toMatch(new RegExp(`^https?://8080-${id}\\..*\\n$`));
    const opened = startSkerry([
      'sandbox',
      'port',
      'open',
      '--data',
      stack.dataDir,
      '--local',
      '0',
      id,
      '8080',
    ]);
    const address = await firstLine(opened);
    expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(address)).status).toBe(502);
    const server = startSkerry(
      sandbox('exec', id, '--', 'mkdir w; cd w; echo served > f; exec python3 -u -m http.server 8080'),
    );
    await firstLine(server);
    expect(await (await fetch(`${address}/f`)).text()).toBe('served\n');
    const { apiUrl = '', apiKey = '' } = stack.connection;
    const elsewhere = ['--api-url', apiUrl, '--api-key', apiKey, '--data', join(stack.dataDir, 'none')];
    const byUrl = await firstLine(
      startSkerry(['sandbox', 'port', 'open', ...elsewhere, '--local', '0', id, '8080']),
    );
    expect(await (await fetch(`${byUrl}/f`)).text()).toBe('served\n');
    server.kill('SIGTERM');
    await once(server, 'exit');
    const upgrader = startSkerry(sandbox('exec', id, '--', `exec python3 -u -c '${upgrade}'`));
    await firstLine(upgrader);
    const request = get(address, { headers: { connection: 'Upgrade', upgrade: 'shout' } });
    const [, socket] = (await once(request, 'upgrade')) as [unknown, Socket];
    socket.write('over both\n');
    expect(String(await once(socket, 'data'))).toBe('OVER BOTH\n');
    socket.destroy();
    opened.kill('SIGINT');
    expect(await once(opened, 'exit')).toEqual([0, null]);
  });
});

describe('skerry context', () => {
  it('keeps servers by name for its owner alone, and never prints a key', async () => {
    const { apiUrl = '', apiKey = '' } = stack.connection;
    const configDir = join(stack.dataDir, 'config');
    const inContext = async (...argv: string[]) => {
      const result = await runSkerry(argv, { configDir });
      expect(result.stdout + result.stderr).not.toContain(apiKey);
      return result;
    };
    await inContext('context', 'add', 'here', '--api-url', apiUrl, '--api-key', apiKey);
    const file = join(stack.dataDir, 'config/skerry/contexts.json');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await inContext('sandbox', 'list', '--context', 'here', '-q')).code).toBe(0);
    await inContext('context', 'use', 'here');
    expect((await inContext('sandbox', 'list', '-q')).code).toBe(0);
    expect((await inContext('context', 'list')).stdout).toMatch(
      /^CURRENT {2}NAME {2}API +DOMAIN\n\* +here {2}http/,
    );
    expect((await inContext('context', 'use', 'none')).stderr).toBe(
      'skerry: no context none; there are: here\n',
    );
    await inContext('context', 'remove', 'here');
    expect((await inContext('context', 'ls', '-q')).stdout).toBe('');
  });
});

describe('what goes wrong', () => {
  it('is one line with a hint, and the stack with --debug alone', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as AddressInfo;
    free.close();
    const unserved = ['--api-url', `http://127.0.0.1:${port}`, '--api-key', 'k'];
    const refused = await runSkerry(['sandbox', 'list', ...unserved]);
    expect(refused.stderr).toMatch(
      /^skerry: the connection failed: [^\n]+\n {2}start the server with "skerry up"[^\n]*\n$/,
    );
    expect((await runSkerry(['--debug', 'sandbox', 'list', ...unserved])).stderr).toMatch(/\n {4}at .*\.js/);
    const key = await runSkerry([
      'sandbox',
      'list',
      '--api-url',
      stack.connection.apiUrl ?? '',
      '--api-key',
      'wrong',
    ]);
    expect(key.stderr).toMatch(/^skerry: [^\n]+\n {2}pass the key[^\n]*\n$/);
  });
});
