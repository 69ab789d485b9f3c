import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox, snapshots } from '@skerry/sdk';
import { buildCache } from '@skerry/sdk/template';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';
import { createTemplateBuilds } from './template-builds.ts';

let stack: Stack;
let registry: DebianRegistry;
let busybox: string;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-start-'));
const { build, register, start, readStatus, waitForEnd } = createTemplateBuilds(() => stack);

const up = async (...args: string[]): Promise<void> => {
  stack = await startStack({ dataDir, args: ['--registry', registry.host, ...args] });
};

beforeAll(async () => {
  registry = await startDebianRegistry();
  busybox = makeBusyboxFolder([
    ...[
      'sh',
      'cat',
      'chown',
      'echo',
      'env',
      'fallocate',
      'head',
      'httpd',
      'id',
      'mkdir',
      'mv',
      'pwd',
      'rm',
      'sleep',
      'tail',
    ],
    ...['test', 'touch', 'tr', 'wget'],
  ]);
  await registry.push('test/busybox', { folder: busybox, env: ['COLOUR=blue'] });
  await up();
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, dataDir]) rmSync(folder, { recursive: true, force: true });
});

const fromBusybox = () => ({ fromImage: `${registry.host}/test/busybox` });

/** Serves what it is: an id of its own from its memory, its place and its variables. */
const script = `#!/bin/sh
id=$(cat /proc/sys/kernel/random/uuid)
mkdir -p /tmp/www
httpd -p 8000 -h /tmp/www
while true; do
  { echo $id; id -un; pwd; echo $GREETING-$COLOUR-$LATE; } > /tmp/www/next
  mv /tmp/www/next /tmp/www/state
  sleep 0.1
done`;

/** The command and its check, as a worker in a folder and with a variable. */
const served = () => ({
  ...fromBusybox(),
  steps: [
    { type: 'RUN', args: [`cat > /bin/serve <<'END'\n${script}\nEND`, 'root'] },
    { type: 'ARG', args: ['PART', 'hel', 'LATE', 'argument'] },
    { type: 'ENV', args: ['GREETING', `$\{PART}lo`] },
    { type: 'RUN', args: ['test $LATE-$GREETING = argument-hello'] },
    { type: 'USER', args: ['worker'] },
    { type: 'WORKDIR', args: ['/srv/app'] },
  ],
  startCmd: 'exec sh /bin/serve',
  readyCmd: 'wget -q -O - 127.0.0.1:8000/state',
});

const create = (template: string, envs: Record<string, string> = {}): Promise<Sandbox> =>
  Sandbox.create({ ...stack.connection, template, envs, timeoutMs: 120_000 });
/** What the server inside says, of which the first line is its id. */
const ask = async (sandbox: Sandbox): Promise<string[]> => {
  await sandbox.commands.run('rm /tmp/www/state; until test -f /tmp/www/state; do sleep 0.05; done', {
    user: 'root',
  });
  return (await sandbox.commands.run('wget -q -O - 127.0.0.1:8000/state')).stdout.trim().split('\n');
};
const where = ['worker', '/srv/app', 'hello-blue-'];
const getBuilds = async (templateID: string) => {
  const { data } = await stack.api.GET('/templates/{templateID}', { params: { path: { templateID } } });
  return data?.builds ?? [];
};
const listImages = (): string[] => readdirSync(join(dataDir, 'templates')).toSorted();
const listSnapshots = (): string[] => readdirSync(join(dataDir, 'snapshots'));

describe('the start command of a template', () => {
  it('runs in each new sandbox already, as it was captured', async () => {
    const done = await build('served', served());
    expect(done.reason).toBeUndefined();
    expect(await getBuilds('served')).toMatchObject([{ startsFrom: 'checkpoint' }]);
    const sandboxes = await Promise.all([create('served', { LATE: 'yes' }), create('served')]);
    const answers = await Promise.all(sandboxes.map(ask));
    expect(answers[0]?.slice(1)).toEqual(where);
    expect(answers[1]).toEqual(answers[0]);
    const [first, second] = sandboxes;
    expect((await first.commands.run('echo $LATE $COLOUR; cat /etc/hostname')).stdout).toBe(
      `yes blue\n${first.sandboxId}\n`,
    );
    await first.files.write('/tmp/mine', 'mine');
    expect(await second.files.exists('/tmp/mine')).toBe(false);
    const token = { 'X-Access-Token': 'another' };
    const refused = await fetch(`${stack.address.sandboxUrl}/envs`, {
      headers: { ...token, 'E2b-Sandbox-Id': first.sandboxId, 'E2b-Sandbox-Port': '49983' },
    });
    expect(refused.status).toBe(401);
    await Promise.all(sandboxes.map((sandbox) => sandbox.kill()));
  });

  it('is inherited by templates that are built on it, unless they have one of their own', async () => {
    const parent = await create('served');
    const child = await build('child', {
      fromTemplate: 'served',
      steps: [{ type: 'RUN', args: ['echo 1 > own'] }],
    });
    expect(child.reason).toBeUndefined();
    const inherited = await create('child');
    const [id, ...rest] = await ask(inherited);
    expect(rest).toEqual(where);
    expect(id).not.toBe((await ask(parent))[0]);
    expect(await inherited.files.read('/srv/app/own')).toBe('1\n');
    const other = await build('other', {
      fromTemplate: 'served',
      startCmd: 'touch /tmp/other; exec sleep 1000',
      // Succeeds at the second time.
      readyCmd: 'test -f /tmp/asked || { touch /tmp/asked; exit 1; }',
    });
    expect(other.reason).toBeUndefined();
    const own = await create('other');
    expect((await own.commands.run('cat /proc/[0-9]*/cmdline | tr "\\0" " "')).stdout).toMatch(/sleep 1000/);
    expect(await own.files.exists('/tmp/other')).toBe(true);
    expect(await own.files.exists('/tmp/www/state')).toBe(false);
    for (const sandbox of [parent, inherited, own]) await sandbox.kill();
  });

  it('is inherited from a snapshot too, whose files and not its processes a build begins with', async () => {
    const source = await create('served');
    const [sourceId] = await ask(source);
    await source.commands.run('echo kept > mine; echo there > /tmp/there');
    await source.commands.run('rm /bin/env', { user: 'root' });
    const { snapshotId } = await source.createSnapshot({ name: 'kept:v1' });
    await source.kill();
    const images = listImages();
    const whole = await build('whole', { fromTemplate: 'kept:v1' });
    expect(whole.reason).toBeUndefined();
    const steps = [{ type: 'RUN', args: ['cat mine /tmp/there > copy; echo begun; sleep 1'] }];
    const registered = await register('stepped');
    await start(registered, { fromTemplate: snapshotId, steps });
    const readLog = async () => (await readStatus(registered)).logEntries.map(({ message }) => message);
    await expect.poll(readLog).toContain('begun');
    // What a build began with is its own.
    expect(await snapshots.delete(snapshotId, stack.connection)).toBe(true);
    expect((await waitForEnd(registered)).reason).toBeUndefined();
    expect(await readLog()).toContainEqual(expect.stringMatching(/^CACHED FROM snapshot local\/kept:v1$/));
    const sandboxes = [await create('whole'), await create('stepped')] as const;
    for (const sandbox of sandboxes) {
      const [id, ...rest] = await ask(sandbox);
      expect(rest).toEqual(where);
      expect(id).not.toBe(sourceId);
      expect(await sandbox.files.read('/srv/app/mine')).toBe('kept\n');
      expect(await sandbox.files.exists('/bin/env')).toBe(false);
    }
    expect(await sandboxes[0].files.exists('/srv/app/copy')).toBe(false);
    expect(await sandboxes[1].files.read('/srv/app/copy')).toBe('kept\nthere\n');
    for (const sandbox of sandboxes) await sandbox.kill();
    for (const templateID of ['whole', 'stepped'])
      await stack.api.DELETE('/templates/{templateID}', { params: { path: { templateID } } });
    const cached = await buildCache.list(stack.connection);
    const base = cached.find(({ description }) => description === 'FROM snapshot kept:v1');
    await buildCache.remove(base?.key ?? '', stack.connection);
    expect(listImages()).toEqual(images);
    const { error } = await start(await register('late'), { fromTemplate: snapshotId });
    expect(error).toMatchObject({ code: 404 });
  });

  it('fails its build when it fails before it is ready', async () => {
    const failing = { ...fromBusybox(), startCmd: 'echo broken >&2; exit 7', readyCmd: 'false' };
    const failed = await build('failing', failing);
    expect(failed).toMatchObject({
      status: 'error',
      reason: {
        message: "failed to run start command 'echo broken >&2; exit 7': exit status 7",
        step: 'finalize',
      },
    });
    expect(failed.logEntries.map(({ message }) => message)).toContain('broken');
    const gone = [
      { type: 'WORKDIR', args: ['/srv/gone'] },
      { type: 'RUN', args: ['rm -r /srv/gone', 'root'] },
    ];
    expect((await build('failing', { ...failing, steps: gone })).reason).toMatchObject({
      message: expect.stringContaining('cwd "/srv/gone" does not exist'),
      step: 'finalize',
    });
  });

  it('is not needed for a check, which is made once', async () => {
    const checked = await build('checked', { ...fromBusybox(), readyCmd: 'test $COLOUR = blue' });
    expect(checked.reason).toBeUndefined();
    const [only] = await getBuilds('checked');
    expect(only).not.toHaveProperty('startsFrom');
    const sandbox = await create('checked');
    expect((await sandbox.commands.run('echo $COLOUR')).stdout).toBe('blue\n');
    await sandbox.kill();
  });

  it('is started again in each sandbox when its checkpoint is damaged', async () => {
    const before = listSnapshots();
    await build('damaged', served());
    const [added = ''] = listSnapshots().filter((name) => !before.includes(name));
    const memory = join(dataDir, 'snapshots', added, 'memory');
    const [pages = ''] = readdirSync(memory).filter((name) => name.startsWith('pages-'));
    const bytes = readFileSync(join(memory, pages));
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    writeFileSync(join(memory, pages), bytes);
    const sandboxes = await Promise.all([create('damaged'), create('damaged')]);
    const answers = await Promise.all(sandboxes.map(ask));
    for (const [, ...rest] of answers) expect(rest).toEqual(where);
    expect(answers[0]?.[0]).not.toBe(answers[1]?.[0]);
    expect(stack.log()).toContain('as its checkpoint cannot be used');
    for (const sandbox of sandboxes) await sandbox.kill();
  });

  it('is removed with its checkpoint when its template is', async () => {
    const before = listSnapshots().length;
    for (const templateID of ['damaged', 'other'])
      expect(
        (await stack.api.DELETE('/templates/{templateID}', { params: { path: { templateID } } })).response
          .status,
      ).toBe(204);
    expect(listSnapshots().length).toBe(before - 2);
  });
});

describe('the size of a build', () => {
  it('is that of the sandboxes, and holds inside', async () => {
    const registered = await register('sized', { cpuCount: 1, memoryMB: 256, minFreeDiskMb: 1_800 });
    await start(registered, { ...fromBusybox(), steps: [{ type: 'RUN', args: ['echo small > file'] }] });
    expect((await waitForEnd(registered)).reason).toBeUndefined();
    const sandbox = await create('sized');
    expect(await sandbox.getInfo()).toMatchObject({ cpuCount: 1, memoryMiB: 256, diskSizeMiB: 2_048 });
    const config = readFileSync(join(dataDir, 'sandboxes', sandbox.sandboxId, 'config.json'), 'utf8');
    const { cpu } = JSON.parse(config).linux.resources;
    expect(cpu.quota / cpu.period).toBe(1);
    const run = (command: string): Promise<number> =>
      sandbox.commands.run(command).then(
        () => 0,
        ({ exitCode }) => exitCode,
      );
    expect(await run('fallocate -l 1800m large')).toBe(0);
    expect(await run('fallocate -l 300m larger')).toBe(1);
    // tail keeps all that it reads, which is a single line.
    expect(await run('head -c 300m /dev/zero | tail')).toBe(137);
    expect(await run('true')).toBe(0);
    await sandbox.kill();
  });

  it('fails a build whose start command leaves less of the disk free than it requires', async () => {
    const body = {
      ...fromBusybox(),
      startCmd: 'fallocate -l 500m /tmp/large; exec sleep 1000',
      readyCmd: 'test -f /tmp/large',
    };
    const require = async (minFreeDiskMb: number) => {
      const registered = await register('large', { minFreeDiskMb });
      await start(registered, body);
      return (await waitForEnd(registered)).reason;
    };
    expect(await require(1_800)).toEqual({
      message: expect.stringMatching(
        /^the start command leaves 1[45]\d\d MiB of the disk free, which is less than minFreeDiskMb, 1800$/,
      ),
      step: 'finalize',
    });
    expect(await require(1_400)).toBeUndefined();
    const sandbox = await create('large');
    await sandbox.commands.run('fallocate -l 1400m /home/user/more');
    await expect(sandbox.commands.run('fallocate -l 500m /home/user/most')).rejects.toThrow();
    await sandbox.kill();
  });
});

describe('the start command of a template, where memory is not kept', () => {
  beforeAll(async () => {
    await stack.stop();
    await up('--no-memory');
  });

  it('is started again within each create, without the variables of the sandbox', async () => {
    const sandboxes = await Promise.all([create('served', { LATE: 'yes' }), create('served')]);
    const answers = await Promise.all(sandboxes.map(ask));
    for (const [, ...rest] of answers) expect(rest).toEqual(where);
    expect(answers[0]?.[0]).not.toBe(answers[1]?.[0]);
    expect((await sandboxes[0].commands.run('echo $LATE')).stdout).toBe('yes\n');
    for (const sandbox of sandboxes) await sandbox.kill();
  });

  it('is on record as such in a build of this server', async () => {
    const done = await build('again', {
      fromTemplate: 'served',
      startCmd: 'exec sleep 1000',
      readyCmd: 'true',
    });
    expect(done.reason).toBeUndefined();
    expect(await getBuilds('again')).toMatchObject([{ startsFrom: 'command' }]);
    const sandbox = await create('again');
    expect((await sandbox.commands.run('cat /proc/[0-9]*/cmdline | tr "\\0" " "')).stdout).toMatch(
      /sleep 1000/,
    );
    await sandbox.kill();
  });
});

describe('a server as a step', () => {
  beforeAll(async () => {
    await stack.stop();
    await up('--build-timeout', '180s');
  });

  it('is recognised, and fails its build before that is out of time', async () => {
    const step = (...commands: string[]) => ({
      ...fromBusybox(),
      steps: commands.map((command) => ({ type: 'RUN', args: [command, 'root'] })),
    });
    const [failed, done, unchecked] = await Promise.all([
      // The server of an earlier step does not make a later one look like a server.
      build('server', step('httpd -p 8001', 'httpd -f -p 8000')),
      build('daemon', step('httpd -p 8000', 'sleep 2')),
      // Meanwhile: nothing says when it is ready.
      build('unchecked', { ...fromBusybox(), startCmd: 'exec sleep 1000' }),
    ]);
    const found =
      'it writes nothing and something listens on port 8000: this looks like a server: use the start command, as RUN has to end';
    expect(failed.reason).toEqual({
      message: `failed to run command 'httpd -f -p 8000': ${found}`,
      step: '2',
    });
    expect(failed.logEntries).toContainEqual(
      expect.objectContaining({ level: 'warn', message: found, step: '2' }),
    );
    expect(done.reason).toBeUndefined();
    expect(done.logEntries.map(({ message }) => message).filter((line) => line.includes('server'))).toEqual(
      [],
    );
    const times = unchecked.logEntries.map(({ timestamp }) => Date.parse(timestamp));
    expect(unchecked.reason).toBeUndefined();
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(20_000);
  });
});
