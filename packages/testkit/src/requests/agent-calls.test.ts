import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileType } from '@skerry/envd-client/filesystem';
import { type FileEvent, Sandbox, TimeoutError } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import type { StackSandbox } from '../stack/stack-client.ts';

let stack: SharedStack;
let sandbox: StackSandbox;
let sdk: Sandbox;
beforeAll(async () => {
  stack = await joinStack();
  sandbox = await stack.createSandbox({ timeoutSeconds: 300 });
  sdk = await Sandbox.connect(sandbox.sandboxId, stack.connection);
});
afterAll(() => stack.leave());

describe('commands', () => {
  it('deliver output while they run, in order and unchanged', async () => {
    const arrivals: string[] = [];
    // The command goes on when what it wrote last has arrived.
    const handle = await sdk.commands.run('for i in 1 2 3; do echo out $i; read _; done; echo err >&2', {
      background: true,
      stdin: true,
    });
    for await (const piece of handle) {
      if (!('stdout' in piece)) continue;
      arrivals.push(piece.stdout);
      await handle.sendStdin('\n');
    }
    expect(await handle.wait()).toMatchObject({
      exitCode: 0,
      stdout: 'out 1\nout 2\nout 3\n',
      stderr: 'err\n',
    });
    expect(arrivals).toEqual(['out 1\n', 'out 2\n', 'out 3\n']);
  });

  it('take environment, directory and user of the call', async () => {
    const { stdout } = await sdk.commands.run('echo $A; pwd; whoami; id -Gn', {
      envs: { A: 'ä b' },
      cwd: '/usr/lib',
      user: 'root',
    });
    expect(stdout).toBe('ä b\n/usr/lib\nroot\nroot\n');
    expect((await sdk.commands.run('sudo whoami')).stdout).toBe('root\n');
    expect((await sdk.commands.run('python --version && python3 --version')).stdout).toMatch(
      /^Python 3.*\nPython 3/,
    );
  });

  it('read what StreamInput sends, piece by piece while the request is open, and no other input', async () => {
    const sort = await sdk.commands.run('while read line; do echo "got $line"; done; echo end', {
      background: true,
      stdin: true,
    });
    let release = (): void => {};
    async function* lines(): AsyncGenerator<string> {
      for (const line of ['one\n', 'two\n']) {
        const echoed = new Promise<void>((resolve) => {
          release = resolve;
        });
        yield line;
        await echoed;
      }
    }
    const reading = (async () => {
      const seen: string[] = [];
      for await (const piece of sort) {
        if ('stdout' in piece) seen.push(piece.stdout);
        release();
      }
      return seen.join('');
    })();
    await sdk.commands.streamStdin(sort.pid, lines());
    await sort.sendStdin('three\n');
    await sort.closeStdin();
    expect(await reading).toBe('got one\ngot two\ngot three\nend\n');
  });

  it('end with "timeout" when they outlive the time they were given, and are killed', async () => {
    await expect(sdk.commands.run('sleep 1000.25', { timeoutMs: 500 })).rejects.toThrow(TimeoutError);
    const alive = async () =>
      (await sdk.commands.list()).filter(({ args }) => args.includes('sleep 1000.25'));
    await expect.poll(alive).toEqual([]);
  });

  it('that do not exist are not killed, and programs that do not exist fail with 127', async () => {
    expect(await sdk.commands.kill(999_999)).toBe(false);
    await expect(sdk.commands.run('no-such-program')).rejects.toMatchObject({ exitCode: 127 });
  });
});

describe('files', () => {
  it('come back as they were written, 20 MB of them, as bytes and as a stream', async () => {
    const data = randomBytes(20 << 20);
    await sdk.files.write('big.bin', data);
    expect(Buffer.from(await sdk.files.read('big.bin', { format: 'bytes' })).equals(data)).toBe(true);
    const hash = createHash('sha256');
    for await (const chunk of await sdk.files.read('big.bin', { format: 'stream' })) hash.update(chunk);
    const digest = hash.digest('hex');
    expect(digest).toBe(createHash('sha256').update(data).digest('hex'));
    expect((await sdk.commands.run('sha256sum big.bin')).stdout).toBe(`${digest}  big.bin\n`);
  });

  it('are listed, moved and removed, and belong to the user', async () => {
    await sdk.files.write([
      { path: 'tree/a/one', data: '1' },
      { path: 'tree/b', data: '22' },
    ]);
    const names = async (): Promise<string[]> =>
      (await sdk.files.list('tree', { depth: 3 })).map(({ path }) => path.replace('/home/user/', ''));
    expect(await names()).toEqual(['tree/a', 'tree/a/one', 'tree/b']);
    const { entry } = await sandbox.agent.filesystem.stat({ path: 'tree/b' });
    expect(entry).toMatchObject({
      name: 'b',
      type: FileType.FILE,
      path: '/home/user/tree/b',
      size: 2n,
      mode: 0o644,
      permissions: '-rw-r--r--',
      owner: 'user',
      group: 'user',
    });
    await sdk.files.move('tree/b', 'tree/new/c');
    expect(await names()).toEqual(['tree/a', 'tree/a/one', 'tree/new', 'tree/new/c']);
    await sdk.files.remove('tree');
    await sdk.files.remove('tree');
    expect(await sdk.files.exists('tree')).toBe(false);
  });

  it('never reach the host, where links and files change places while they are written', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'raced-'));
    try {
      const outside = join(folder, 'outside');
      await writeFile(outside, 'untouched');
      const race = `mkdir -p ${folder} && cd ${folder} && while :; do ln -sf ${outside} target; rm target; echo own > target; done`;
      const racing = await sdk.commands.run(race, { background: true });
      // The command runs until it is killed, which is how it ends.
      racing.wait().catch(() => {});
      const outcomes = await Promise.allSettled(
        Array.from({ length: 40 }, (_, index) => sdk.files.write(join(folder, 'target'), `written ${index}`)),
      );
      await racing.kill();
      expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
      expect(await readFile(outside, 'utf8')).toBe('untouched');
      expect(await readdir(folder)).toEqual(['outside']);
      expect((await sdk.commands.run('echo here')).stdout).toBe('here\n');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('watching', () => {
  it('streams what happens in a directory, and below it in directories that are new', async () => {
    await sdk.files.makeDir('watched');
    using watch = await sdk.files.watchDir('watched', { recursive: true });
    const events: FileEvent[] = [];
    const reading = (async () => {
      for await (const event of watch) {
        events.push(event);
        if (event.name === 'last' && event.type === 'create') break;
      }
    })();
    await sdk.commands.run(
      'cd watched && echo x > a && mv a b && mkdir -p deep/er && echo y > deep/er/c && chmod 600 b && rm b && touch last',
    );
    await reading;
    const seen = events.map(({ type, name }) => `${type} ${name}`);
    for (const expected of [
      'create a',
      'write a',
      'rename a',
      'create b',
      'chmod b',
      'remove b',
      'create deep',
    ])
      expect(seen).toContain(expected);
    for (const expected of ['create deep/er', 'create deep/er/c']) expect(seen).toContain(expected);
    expect(new Set(seen.filter((event) => event.startsWith('create'))).size).toBe(
      seen.filter((event) => event.startsWith('create')).length,
    );
  });
});
