import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { components } from '@skerry/platform-client';
import { Sandbox, snapshots } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';
import { createTemplateBuilds, messagesOf } from './template-builds.ts';

type Schemas = components['schemas'];

let stack: Stack;
let registry: DebianRegistry;
let busybox: string;
let scratch: string;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-templates-'));

const startServer = async (): Promise<void> => {
  const imageMap = [
    `docker.io/mirrored/*=${registry.host}/mirror/*`,
    'e2bdev/code-interpreter=template:interpreter',
    'ghcr.io/some/gone:v1=template:gone',
    'mirrored/closed=127.0.0.1:2/mirror/busybox',
  ];
  const args = [
    ...[registry.host, '127.0.0.1:1'].flatMap((host) => ['--registry', host]),
    ...imageMap.flatMap((rule) => ['--image-map', rule]),
  ];
  stack = await startStack({ dataDir, args });
};

beforeAll(async () => {
  registry = await startDebianRegistry();
  busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'id', 'chown', 'stat', 'sleep', 'pwd', 'mkdir', 'rmdir']);
  const able = join(busybox, 'opt/able/cat');
  mkdirSync(dirname(able), { recursive: true });
  copyFileSync('/bin/busybox', able);
  // CAP_SETUID, permitted and effective, as the kernel stores it: bytes that are no text.
  const capability = '0x0100000280000000000000000000000000000000';
  execFileSync('setfattr', ['--name=security.capability', `--value=${capability}`, able]);
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/opt/bin:/bin', 'COLOUR=blue'] });
  scratch = mkdtempSync(join(tmpdir(), 'skerry-scratch-'));
  copyFileSync('/bin/busybox', join(scratch, 'echo'));
  await registry.push('test/scratch', { folder: scratch });
  await registry.push('mirror/busybox', { folder: busybox, env: ['PATH=/bin', 'COLOUR=green'] });
  await registry.push('test/strange', { folder: scratch, owner: 100_000 });
  await startServer();
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, scratch, dataDir]) rmSync(folder, { recursive: true, force: true });
});

const { register, start, readStatus, waitForEnd, build } = createTemplateBuilds(() => stack);

const fromBusybox = () => ({ fromImage: `${registry.host}/test/busybox` });
const create = (template: string): Promise<Sandbox> =>
  Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
/** The capabilities in effect of a program that the image gives one. */
const readAbility = async (sandbox: Sandbox): Promise<string | undefined> =>
  /CapEff:\s*(\S+)/.exec((await sandbox.commands.run('/opt/able/cat /proc/self/status')).stdout)?.[1];
const CAP_SETUID = '0000000000000080';
const listImages = (): string[] => readdirSync(join(dataDir, 'templates'));
const removeTemplate = async (templateID: string): Promise<number> =>
  (await stack.api.DELETE('/templates/{templateID}', { params: { path: { templateID } } })).response.status;

describe('a template', () => {
  it('is built from an image of a registry without a C library, and sandboxes of it run', async () => {
    const registered = await register('plain', { cpuCount: 1, memoryMB: 256 });
    expect(registered).toMatchObject({ names: ['local/plain'], tags: ['default'], public: false });
    expect((await readStatus(registered)).status).toBe('waiting');
    expect((await start(registered, fromBusybox())).response.status).toBe(202);
    const done = await waitForEnd(registered);
    expect(done.reason).toBeUndefined();
    expect(messagesOf(done)).toContain(`FROM ${registry.host}/test/busybox`);
    const sandbox = await create('plain');
    const { stdout } = await sandbox.commands.run('id -un; pwd; echo $COLOUR $PATH');
    expect(stdout).toBe('user\n/home/user\nblue /opt/bin:/bin\n');
    expect(await readAbility(sandbox)).toBe(CAP_SETUID);
    expect((await sandbox.getInfo()).templateId).toBe(registered.templateID);
    await sandbox.kill();
  });

  it('is built from an image with a single program and no shell', async () => {
    expect(await build('scratch', { fromImage: `${registry.host}/test/scratch` })).toMatchObject({
      status: 'ready',
    });
    const sandbox = await create('scratch');
    await sandbox.files.write('/home/user/note', 'kept');
    expect(await sandbox.files.read('/home/user/note')).toBe('kept');
    await sandbox.kill();
  });

  it('has the files that its steps made, as users, in folders and with variables', async () => {
    const steps = [
      { type: 'RUN', args: ['echo $COLOUR > made; id -un >> made; pwd >> made'] },
      {
        type: 'ENV',
        args: ['NAME', 'one', 'BOTH', '$NAME$constructor-$COLOUR'],
        force: true,
        // Clients send these too.
        ...{ forceUpload: false, resolveSymlinks: true, gzip: true },
      },
      { type: 'WORKDIR', args: ['/srv/app'] },
      { type: 'RUN', args: ['echo $BOTH > here'] },
      { type: 'USER', args: ['worker'] },
      { type: 'WORKDIR', args: ['inner'] },
      { type: 'RUN', args: ['echo mine > file'] },
      { type: 'RUN', args: ['echo $NAME > /root/by-root', 'root'] },
    ];
    const done = await build('stepped', { ...fromBusybox(), steps });
    expect(done.reason).toBeUndefined();
    expect(messagesOf(done)).toEqual(expect.arrayContaining(['step 4: RUN echo $BOTH > here']));
    const sandbox = await create('stepped');
    const read = async (command: string): Promise<string> =>
      (await sandbox.commands.run(command, { user: 'root' })).stdout;
    expect(await read('cat /home/user/made')).toBe('blue\nuser\n/home/user\n');
    expect(await read('cat /srv/app/here; stat -c %U /srv/app/here')).toBe('one-blue\nuser\n');
    expect(await read('cat /srv/app/inner/file; stat -c %U /srv/app/inner')).toBe('mine\nworker\n');
    expect(await read('cat /root/by-root; echo -$NAME-')).toBe('one\n--\n');
    expect(await readAbility(sandbox)).toBe(CAP_SETUID);
    await sandbox.kill();
  });

  it('is built from another template, and from that of the installation', async () => {
    await build('lower', { ...fromBusybox(), steps: [{ type: 'RUN', args: ['echo 1 > lower'] }] });
    const upper = await build('upper', {
      fromTemplate: 'lower',
      steps: [{ type: 'RUN', args: ['echo 2 > upper'] }],
    });
    expect(upper.reason).toBeUndefined();
    const first = await create('upper');
    expect((await first.commands.run('cat lower upper; echo $COLOUR')).stdout).toBe('1\n2\nblue\n');
    await first.kill();
    const based = await build('based', {
      fromImage: 'e2bdev/base',
      steps: [{ type: 'RUN', args: ['git --version > git'] }],
    });
    expect(based.reason).toBeUndefined();
    const second = await create('based');
    expect(await second.files.read('/home/user/git')).toMatch(/^git version/);
    await second.kill();
  });

  it('tells line by line what a step writes, in pages, and where it failed', async () => {
    const steps = [
      { type: 'RUN', args: ['i=0; while [ $i -lt 120 ]; do echo line $i; i=$((i+1)); done'] },
      { type: 'RUN', args: ['echo to stderr >&2; exit 7'] },
    ];
    const registered = await register('failing');
    await start(registered, { ...fromBusybox(), steps });
    const failed = await waitForEnd(registered);
    const reason = {
      message: "failed to run command 'echo to stderr >&2; exit 7': exit status 7",
      step: '2',
    };
    expect(failed).toMatchObject({ status: 'error', reason });
    const all: Schemas['BuildLogEntry'][] = [];
    for (;;) {
      const { logEntries } = await readStatus(registered, { logsOffset: all.length });
      if (logEntries.length === 0) break;
      expect(logEntries.length).toBeLessThanOrEqual(100);
      all.push(...logEntries);
    }
    const ofFirst = all.filter(({ step }) => step === '1').map(({ message }) => message);
    // After the step, and why it was not taken from the cache.
    expect(ofFirst.slice(2)).toEqual(Array.from({ length: 120 }, (_, i) => `line ${i}`));
    expect(all).toContainEqual(expect.objectContaining({ message: 'to stderr', step: '2' }));
    expect((await readStatus(registered, { level: 'error' })).logEntries).toEqual([
      expect.objectContaining({ level: 'error', ...reason }),
    ]);
    await expect(create('failing')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('fails, with no request, when a registry is neither public nor allowed', async () => {
    const refused = await build('closed', { fromImage: '127.0.0.1:2/test/none' });
    expect(refused.reason).toEqual({
      message:
        'registry 127.0.0.1:2 is not at a public address; the operator can allow it by skerry up --registry 127.0.0.1:2',
      step: 'base',
    });
  });

  it('fails with the reason when an image, a registry or a user is unknown', async () => {
    const missing = await build('missing', { fromImage: `${registry.host}/test/none` });
    expect(missing).toMatchObject({ status: 'error', reason: { step: 'base' } });
    expect(missing.reason?.message).toContain('404');
    const down = await build('down', { fromImage: '127.0.0.1:1/test/none' });
    expect(down.reason?.message).toContain('does not answer');
    const steps = [{ type: 'RUN', args: ['whoami', 'nobody-here'] }];
    expect((await build('unknown', { ...fromBusybox(), steps })).reason).toMatchObject({
      message:
        "failed to run command 'whoami': command failed: unauthenticated: invalid username: 'nobody-here'",
      step: '1',
    });
  });

  it('fails with the step whose working folder an earlier one removed', async () => {
    const steps = [
      { type: 'WORKDIR', args: ['/srv/gone'] },
      { type: 'RUN', args: ['rmdir /srv/gone', 'root'] },
      { type: 'RUN', args: ['true'] },
    ];
    expect((await build('gone', { ...fromBusybox(), steps })).reason).toMatchObject({
      message: 'failed to run command \'true\': command failed: cwd "/srv/gone" does not exist',
      step: '3',
    });
  });

  it('is refused with the name of the field when a part of its build is not supported', async () => {
    const registered = await register('refused');
    const copy = { type: 'COPY', args: ['a', 'b', '', ''], filesHash: '0'.repeat(64) };
    const { host } = registry;
    const credentials = { type: 'registry', username: 'someone', password: 'secret' };
    for (const [body, field] of [
      [{ fromImage: 'a', fromTemplate: 'b' }, /body/],
      [{}, /body/],
      [{ fromImage: 'Not/An Image' }, /body\.fromImage/],
      [{ fromImage: 'a', steps: [{ type: 'RUN', args: ['echo \0'] }] }, /body\.steps\[0\]\.args/],
      [{ fromImage: 'a', startCmd: 'echo \0' }, /body\.startCmd/],
      [{ fromImage: 'a', readyCmd: 'echo \0' }, /body\.readyCmd/],
      [{ fromImage: 'a', steps: [copy] }, /body\.steps\[0\]\.filesHash/],
      [{ fromImage: 'a', steps: [{ type: 'ENV', args: ['A'] }] }, /body\.steps\[0\]\.args/],
      [
        { fromImage: `${host}/a`, fromImageRegistry: { type: 'gcp' } },
        /body\.fromImageRegistry must have serviceAccountJson/,
      ],
      [{ fromTemplate: 'base', fromImageRegistry: credentials }, /body\.fromImageRegistry/],
      [{ fromImage: 'e2bdev/base', fromImageRegistry: credentials }, /body\.fromImageRegistry/],
    ] as const) {
      const { error, response } = await start(registered, body);
      expect([response.status, error?.message]).toEqual([400, expect.stringMatching(field)]);
    }
    expect((await start(registered, { fromTemplate: 'no-such' })).response.status).toBe(404);
    expect((await readStatus(registered)).status).toBe('waiting');
    for (const more of [
      ...[{ cpuCount: 3 }, { cpuCount: 1_000_000 }],
      ...[{ memoryMB: 1_000_000_000 }, { memoryMB: 126 }, { memoryMB: 257 }],
      { minFreeDiskMb: 1_000_000 },
      { tags: ['a:b'] },
    ])
      await expect(register('refused', more)).rejects.toThrow(/"code":400/);
    for (const name of [':x', 'name:', 'a/b/c', 'other/name', 'a'.repeat(129)])
      await expect(register(name)).rejects.toThrow(/"code":400.*body\.name/);
    expect((await register(' Local/Cased:V1 ')).names).toEqual(['local/cased']);
    await expect(register('base')).rejects.toThrow(/"code":409/);
  });

  it('begins with what the server takes for the name of an image, and the cache knows which content that is', async () => {
    const steps = [{ type: 'RUN' as const, args: ['echo $COLOUR > made'] }];
    const fromImageRegistry = { type: 'registry' as const, username: 'me', password: 'for-docker.io' };
    const run = async (name: string, source: object) => messagesOf(await build(name, { ...source, steps }));
    const mirror = `${registry.host}/mirror/busybox`;

    const mirrored = await run('by-mirror', { fromImage: 'mirrored/busybox', fromImageRegistry });
    expect(mirrored).toContain(`FROM mirrored/busybox, which is ${mirror}:latest on this server`);
    const direct = await run('by-mirror', { fromImage: mirror });
    expect(direct).toContainEqual(expect.stringMatching(/^CACHED .* RUN /));

    await build('interpreter', fromBusybox());
    const interpreter = { fromImage: 'docker.io/e2bdev/code-interpreter', fromImageRegistry };
    const first = await run('by-template', interpreter);
    expect(first).toContain(
      'FROM docker.io/e2bdev/code-interpreter, which is template interpreter on this server',
    );
    expect(first).not.toContainEqual(expect.stringMatching(/^CACHED .* RUN /));
    expect(await run('by-template', interpreter)).toContainEqual(expect.stringMatching(/^CACHED .* RUN /));
    await build('interpreter', { fromImage: mirror });
    expect(await run('by-template', interpreter)).toContainEqual(expect.stringMatching(/^CACHED .* RUN /));
    await build('interpreter', { fromImage: mirror, steps: [{ type: 'RUN', args: ['echo other > other'] }] });
    expect(await run('by-template', interpreter)).not.toContainEqual(
      expect.stringMatching(/^CACHED .* RUN /),
    );

    const registered = await register('by-map');
    const gone = await start(registered, { fromImage: 'ghcr.io/some/gone:v1' });
    expect([gone.response.status, gone.error?.message]).toEqual([
      404,
      'body.fromImage: "ghcr.io/some/gone:v1" is the template "gone" on this server, which was not found',
    ]);
    await start(registered, { fromImage: 'mirrored/closed' });
    expect((await waitForEnd(registered)).reason?.message).toContain('skerry up --registry 127.0.0.1:2');
  });

  it('is of the newest build that is ready, and one that waits is superseded by the next', async () => {
    const [first, second] = [await register('renewed'), await register('renewed')];
    expect(second.templateID).toBe(first.templateID);
    expect(await readStatus(first)).toMatchObject({
      status: 'error',
      reason: { message: expect.stringContaining('superseded') },
    });
    expect((await start(first, fromBusybox())).response.status).toBe(400);
    await start(second, { ...fromBusybox(), steps: [{ type: 'RUN', args: ['echo 1 > v'] }] });
    expect((await start(second, fromBusybox())).response.status).toBe(400);
    await waitForEnd(second);
    const older = await create('renewed');
    await build('renewed:v2', { ...fromBusybox(), steps: [{ type: 'RUN', args: ['echo 2 > v'] }] });
    await build('renewed', { ...fromBusybox(), steps: [{ type: 'RUN', args: ['echo 3 > v'] }] });
    for (const [name, version] of [
      ['renewed', '3\n'],
      ['renewed:v2', '2\n'],
    ] as const) {
      const sandbox = await create(name);
      expect(await sandbox.files.read('/home/user/v')).toBe(version);
      await sandbox.kill();
    }
    // The image stays as long as the snapshot does.
    const snapshot = await older.createSnapshot({ memory: false });
    await older.kill();
    const copy = await create(snapshot.snapshotId);
    expect((await copy.commands.run('cat v; echo $COLOUR')).stdout).toBe('1\nblue\n');
    await copy.kill();
    await snapshots.delete(snapshot.snapshotId, stack.connection);
  });

  it('is found by its name, listed with its builds, and deleted with its image unless it is used', async () => {
    const before = listImages();
    const { templateID } = await build('deleted', {
      ...fromBusybox(),
      steps: [{ type: 'RUN', args: ['echo only here > file'] }],
    });
    const listAdded = () => listImages().filter((name) => !before.includes(name));
    // The image under the steps was there before, in the cache.
    await expect.poll(() => listAdded().length).toBe(1);
    const [added] = listAdded();
    const alias = () =>
      stack.api.GET('/templates/aliases/{alias}', { params: { path: { alias: 'deleted' } } });
    expect((await alias()).data).toEqual({ templateID, public: false });
    const { data = [] } = await stack.api.GET('/templates');
    expect(data.map(({ aliases }) => aliases[0])).toEqual(expect.arrayContaining(['base', 'deleted']));
    expect(data.find((one) => one.templateID === templateID)).toMatchObject({
      buildStatus: 'ready',
      buildCount: 1,
    });
    const sandbox = await create('deleted');
    expect(await removeTemplate('deleted')).toBe(400);
    await sandbox.pause({ memory: false });
    expect(await removeTemplate('deleted')).toBe(400);
    await sandbox.kill();
    expect(await removeTemplate('deleted')).toBe(204);
    expect(await removeTemplate('deleted')).toBe(404);
    expect((await alias()).response.status).toBe(404);
    // The cache still has it for an equal build.
    expect((await stack.api.DELETE('/skerry/v1/build-cache')).response.status).toBe(200);
    expect(listImages()).not.toContain(added);
    expect(await removeTemplate('base')).toBe(400);
  });

  it('is refused by the name of a file whose owner no sandbox has, and leaves nothing', async () => {
    const before = listImages();
    const strange = await build('strange', { fromImage: `${registry.host}/test/strange` });
    expect(strange.reason).toEqual({
      message: 'the file "/" of the image belongs to 100000:0, and a sandbox has the ids 0 to 65535 only',
      step: 'base',
    });
    expect(listImages()).toEqual(before);
  });
});
