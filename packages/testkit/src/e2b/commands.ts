import { expect, it } from 'vitest';
import type { Ask } from './given.ts';

// Releases from 2.1 on close standard input unless asked; the oldest has no such option and never closes it.
const withStdin = { background: true, stdin: true } as const;

/** Running commands in the foreground and in the background. */
export function commandsScenario(ask: Ask): void {
  it('runs a command and returns its output and exit code', async () => {
    const { commands } = ask().sandbox;
    expect(await commands.run('echo häuser; echo größe >&2')).toMatchObject({
      exitCode: 0,
      stdout: 'häuser\n',
      stderr: 'größe\n',
    });
    expect((await commands.run('whoami; pwd')).stdout).toBe('user\n/home/user\n');
    // Older releases decode each piece for itself, which would spoil a character that two pieces share.
    const long = await commands.run(`python3 -c "print('größer€𝄞 ' * 100_000, end='')"`);
    expect(long.stdout === 'größer€𝄞 '.repeat(100_000)).toBe(true);
  });

  it('throws CommandExitError, with the fields of a result, when a command fails', async () => {
    const { e2b, sandbox } = ask();
    const failure = await sandbox.commands
      .run('echo out; echo err >&2; exit 3')
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(e2b.CommandExitError);
    expect(failure).toMatchObject({ exitCode: 3, stdout: 'out\n', stderr: 'err\n' });
    const missing = await sandbox.commands.run('no-such-program').catch((error: unknown) => error);
    expect(missing).toMatchObject({ exitCode: 127 });
  });

  it('takes variables, a folder and a user', async () => {
    const { e2b, sandbox } = ask();
    const { stdout } = await sandbox.commands.run('echo $COLOUR; pwd; whoami; echo $HOME', {
      envs: { COLOUR: 'blue' },
      cwd: '/etc',
      user: 'root',
    });
    expect(stdout).toBe('blue\n/etc\nroot\n/root\n');
    await expect(sandbox.commands.run('true', { cwd: '/nowhere' })).rejects.toBeInstanceOf(
      e2b.InvalidArgumentError,
    );
  });

  it('ends a command that outlives its timeout', async () => {
    const { e2b, sandbox } = ask();
    const late = sandbox.commands.run('exec sleep 61', { timeoutMs: 200 });
    await expect(late).rejects.toBeInstanceOf(e2b.TimeoutError);
    await expect
      .poll(async () => (await sandbox.commands.list()).filter(({ args }) => args.includes('exec sleep 61')))
      .toEqual([]);
  });

  it('runs many commands at once', async () => {
    const { commands } = ask().sandbox;
    const numbers = Array.from({ length: 12 }, (_, index) => `${index}\n`);
    const results = await Promise.all(numbers.map((number) => commands.run(`sleep 0.2; echo ${number}`)));
    expect(results.map(({ stdout }) => stdout)).toEqual(numbers);
  });

  it('streams the output of a background command to callbacks while it runs', async () => {
    const { commands } = ask().sandbox;
    const out: string[] = [];
    const err: string[] = [];
    const handle = await commands.run('echo one; read line; echo "$line"; echo two >&2', {
      ...withStdin,
      onStdout: (text) => void out.push(text),
      onStderr: (text) => void err.push(text),
    });
    await expect.poll(() => out.join('')).toBe('one\n');
    expect(handle.exitCode).toBeUndefined();
    await commands.sendStdin(handle.pid, 'wörd\n');
    expect(await handle.wait()).toMatchObject({ exitCode: 0, stdout: 'one\nwörd\n', stderr: 'two\n' });
    expect(out.join('')).toBe('one\nwörd\n');
    expect(err.join('')).toBe('two\n');
  });

  it('lists, follows and kills what runs in the background', async () => {
    const { e2b, sandbox } = ask();
    const { commands } = sandbox;
    const first = await commands.run('while read line; do echo "got $line"; done', {
      ...withStdin,
      envs: { MARK: 'here' },
      cwd: '/tmp',
    });
    const listed = (await commands.list()).find(({ pid }) => pid === first.pid);
    expect(listed).toMatchObject({ cmd: '/bin/bash', envs: { MARK: 'here' }, cwd: '/tmp' });
    expect(listed?.args).toEqual(['-l', '-c', 'while read line; do echo "got $line"; done']);

    await first.disconnect();
    const seen: string[] = [];
    const second = await commands.connect(first.pid, { onStdout: (text) => void seen.push(text) });
    expect(second.pid).toBe(first.pid);
    await commands.sendStdin(first.pid, 'it\n');
    await expect.poll(() => seen.join('')).toBe('got it\n');

    expect(await second.kill()).toBe(true);
    await expect(second.wait()).rejects.toBeInstanceOf(e2b.CommandExitError);
    expect(await commands.kill(first.pid)).toBe(false);
    expect((await commands.list()).map(({ pid }) => pid)).not.toContain(first.pid);
    await expect(commands.connect(4_000_000)).rejects.toBeInstanceOf(e2b.NotFoundError);
  });
}
