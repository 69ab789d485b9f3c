import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { openTerminal } from './open-terminal.ts';

let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(() => stack.down());

const skerry = (argv: string[], input?: string): Promise<string> =>
  runProgram(skerryProgram, argv, { input });

describe('skerry sandbox', () => {
  it('creates, lists, uses and kills a sandbox of the server that runs from the data folder', async () => {
    const data = ['--data', stack.dataDir];
    const id = (
      await skerry(['sandbox', 'create', ...data, '--metadata', 'purpose=a=b', '--timeout', '60'])
    ).trim();
    expect(id).toMatch(/^i[a-z0-9]{20}$/);
    const [listed] = (await skerry(['sandbox', 'list', '--json', ...data])).trim().split('\n');
    expect(JSON.parse(listed ?? '')).toMatchObject({
      sandboxId: id,
      metadata: { purpose: 'a=b' },
      state: 'running',
    });
    expect(await skerry(['sandbox', 'exec', ...data, id, '--', 'printf', '%s|', 'a b', '$HOME', '-x'])).toBe(
      'a b|$HOME|-x|',
    );
    expect(await skerry(['sandbox', 'kill', ...data, id])).toBe('');
    await expect(skerry(['sandbox', 'kill', ...data, id])).rejects.toThrow(`sandbox "${id}" was killed`);
    expect(await skerry(['sandbox', 'list', ...data])).not.toContain(id);
  });

  it('pauses and resumes sandboxes, and says which it could not', async () => {
    const { sandboxId: id } = await stack.createSandbox();
    const data = ['--data', stack.dataDir];
    expect(await skerry(['sandbox', 'pause', ...data, '--no-memory', id])).toBe('');
    expect(await skerry(['sandbox', 'list', ...data])).toMatch(new RegExp(`^${id}  base +paused `, 'm'));
    await expect(skerry(['sandbox', 'pause', ...data, '--no-memory', 'inone', id])).rejects.toThrow(
      /ended with 1\nskerry: inone: [^\n]+ not found\nskerry: i[a-z0-9]+: [^\n]+ already paused\n {2}[^\n]+\n$/,
    );
    expect(await skerry(['sandbox', 'resume', ...data, '--timeout', '60', id])).toBe('');
    expect(await skerry(['sandbox', 'list', ...data])).toMatch(new RegExp(`^${id}  base +running `, 'm'));
    await skerry(['sandbox', 'kill', ...data, id]);
  });

  it('captures a sandbox, lists what was captured, makes others of it and deletes it', async () => {
    const { sandboxId: id } = await stack.createSandbox();
    const data = ['--data', stack.dataDir];
    const create = ['snapshot', 'create', ...data, '--no-memory', id];
    const unnamed = (await skerry(create)).trim();
    expect(unnamed).toMatch(/^[a-z0-9]{20}:default$/);
    expect(await skerry([...create, '--name', 'by-hand'])).toBe('local/by-hand:default\n');
    expect(await skerry(['snapshot', 'list', ...data, '-q', '--sandbox', id])).toBe(
      `local/by-hand:default\n${unnamed}\n`,
    );
    expect(await skerry(['snapshot', 'ls', ...data, '--name', 'by-hand'])).toMatch(
      new RegExp(`^ID +SANDBOX +AGE\nlocal/by-hand:default  ${id}  \\d+s\n$`),
    );
    const [line = ''] = (await skerry(['snapshot', 'list', ...data, '--name', 'by-hand', '--json'])).split(
      '\n',
    );
    expect(JSON.parse(line)).toEqual({
      snapshotId: 'local/by-hand:default',
      names: ['local/by-hand:default'],
    });
    const copy = (await skerry(['sandbox', 'create', ...data, 'by-hand'])).trim();
    await expect(skerry(['snapshot', 'delete', ...data, 'by-hand', unnamed, 'none'])).rejects.toThrow(
      /ended with 1\nskerry: by-hand: [^\n]+ running or paused[^\n]*\nskerry: no snapshot none\n/,
    );
    await skerry(['sandbox', 'kill', ...data, copy, id]);
    expect(await skerry(['snapshot', 'delete', ...data, 'by-hand'])).toBe('');
    expect(await skerry(['snapshot', 'list', ...data])).toBe('ID  SANDBOX  AGE\n');
  });

  it('passes standard input on and ends with the status of the command', async () => {
    const sandbox = await stack.createSandbox();
    const exec = ['sandbox', 'exec', '--data', stack.dataDir];
    expect(await skerry([...exec, '--stdin', sandbox.sandboxId, '--', 'sort', '-r'], 'a\nb\nc\n')).toBe(
      'c\nb\na\n',
    );
    await expect(skerry([...exec, sandbox.sandboxId, '--', 'exit 7'])).rejects.toThrow('ended with 7');
    expect(
      await skerry([...exec, '--user', 'root', '--cwd', '/etc', sandbox.sandboxId, '--', 'whoami; pwd']),
    ).toBe('root\n/etc\n');
  });

  it('connects a terminal: keys, size, status, and leaves it as it was', async () => {
    const { sandboxId } = await stack.createSandbox();
    const exec = [skerryProgram, 'sandbox', 'exec', '--tty', '--data', stack.dataDir, sandboxId];
    const script = `stty -g; "$@"; echo "<$?>"; stty -g; read -r x; echo "<$x>"`;
    const here = openTerminal('/bin/sh', ['-c', script, 'sh', process.execPath, ...exec]);
    await here.see(/\$ $/);
    here.terminal.write('stty size; echo "[$TERM $(tty)]"\r');
    await here.see(/\n30 90\n\[xterm \/dev\/pts\/\d+\]\n/);
    // Between its fork and its exec a child of bash still has bash's handlers, and an interrupt is lost: it must run first.
    here.terminal.write(`sh -c 'echo "[running]"; exec sleep 100'\r`);
    await here.see(/\n\[running\]\n/);
    here.terminal.write('\u0003');
    here.terminal.write('echo "[$?]"\r');
    await here.see(/\[130\]\n/);
    here.terminal.resize(120, 40);
    here.terminal.write('until [ "$(stty size)" = "40 120" ]; do sleep 0.05; done; echo "[large]"\r');
    // A shell that draws its line again at the new width may write it in front of the output.
    await here.see(/\[large\]\n/);
    here.terminal.write('exit 6\r');
    await here.see(/<6>\n[\da-f:]+\n/);
    here.terminal.write('typed\r');
    await here.see(/<typed>/);
    const settings = here.text().match(/^[\da-f]+(:[\da-f]+){20,}$/gm);
    expect(settings).toHaveLength(2);
    expect(settings?.[1]).toBe(settings?.[0]);
  });

  it('runs a command on a terminal byte by byte, ends with its status, and wants a terminal', async () => {
    const { sandboxId } = await stack.createSandbox();
    const exec = ['sandbox', 'exec', '-t', '--user', 'root', '--data', stack.dataDir, sandboxId];
    const here = openTerminal(process.execPath, [
      skerryProgram,
      ...exec,
      '--',
      'id -un; stty raw; printf "a\\nb"; exit 9',
    ]);
    expect([await here.ended, here.screen()]).toEqual([9, 'root\r\na\nb']);
    await expect(skerry(exec)).rejects.toThrow(/skerry: [^\n]+ must be a terminal for --tty\n$/);
  });

  it('says in one line what is wrong', async () => {
    const unknown = ['--data', join(stack.dataDir, 'nothing-here')];
    await expect(skerry(['sandbox', 'list', ...unknown])).rejects.toThrow(
      /^sandbox list.*ended with 1\nskerry: no server: [^\n]+\n$/,
    );
    await expect(skerry(['sandbox', 'create', '--data', stack.dataDir, '--timeout', '0'])).rejects.toThrow(
      /at least 1/,
    );
    await expect(skerry(['sandbox', 'create', '--data', stack.dataDir, 'no-such-template'])).rejects.toThrow(
      /no-such-template/,
    );
    await expect(skerry(['up', '--data', stack.dataDir, '--port', '0'])).rejects.toThrow(
      /another skerry is using/,
    );
    await expect(skerry(['down', ...unknown])).rejects.toThrow(/is not a data folder of skerry/);
  });
});

describe('skerry doctor', () => {
  it('finds on this host everything that a sandbox needs', async () => {
    const results = JSON.parse(await skerry(['doctor', '--json'])) as {
      name: string;
      ok: boolean;
      needed: boolean;
    }[];
    expect(results.filter(({ needed, ok }) => needed && !ok)).toEqual([]);
    expect(results.length).toBeGreaterThan(5);
  });

  it('prints each result as it has it, and removes what it has made when it is interrupted', async () => {
    const dir = await mkdtemp('/var/tmp/doctor-');
    onTestFinished(() => rm(dir, { recursive: true, force: true }));
    const doctor = spawn(process.execPath, [skerryProgram, 'doctor', '--data', join(dir, 'data')], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    let printed = '';
    doctor.stdout.on('data', (chunk: Buffer) => {
      printed += chunk;
    });
    const exited = once(doctor, 'exit');
    await expect.poll(() => readFile('/proc/self/mountinfo', 'utf8'), { interval: 5 }).toContain(dir);
    await expect.poll(() => printed, { interval: 5 }).toMatch(/^ok {3}root: /m);
    doctor.kill('SIGINT');
    expect(await exited).toEqual([1, null]);
    expect(await readdir(dir)).toEqual([]);
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(dir);
  });
});

// Last: it ends the server.
describe('skerry up', () => {
  it('does not change the memory of sandboxes that the first start has set', async () => {
    const up = ['up', '--data', stack.dataDir, '--port', '0', '--base-memory'];
    await expect(skerry([...up, '100'])).rejects.toThrow(/must be 128 to 1048576 MiB/);
    await stack.stop();
    await expect(skerry([...up, '512'])).rejects.toThrow(/have 1024 MiB, which --base-memory cannot change/);
  });
});
