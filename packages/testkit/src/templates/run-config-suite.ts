import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IsolationLevel } from '@skerry/contract/isolation';
import { Sandbox } from '@skerry/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';
import { createTemplateBuilds, messagesOf } from './template-builds.ts';

/** What a build begins with. */
type Source = { fromImage: string } | { fromTemplate: string };

const report = 'echo "$(id -un) $PWD [$COLOUR] [$TOKEN]"';
const step = (type: string, ...args: string[]) => ({ type, args });
const ofDockerfile = (type: string, ...args: string[]) => ({ ...step(type, ...args), dockerfile: true });
/** Steps that write what they see into a file, which any user may write. */
const begin = step('RUN', 'mkdir -p /opt && touch /opt/seen && chmod 666 /opt/seen', 'root');
const note = step('RUN', `${report} >> /opt/seen`);
const changing = [step('ENV', 'TOKEN', 'set'), step('WORKDIR', '/app'), step('USER', 'root')];

const images = {
  plain: {},
  named: { User: 'app', WorkingDir: '/srv/image/in' },
  user: { User: '1500:staff' },
  folder: { WorkingDir: '/srv/image' },
  unusable: { User: 'no one' },
};

/** How processes run in a template, in builds on it and in its sandboxes, at one level. */
export const describeRunConfigs = (level: IsolationLevel): void => {
  let stack: Stack;
  let registry: DebianRegistry;
  const applets = [
    'sh',
    'cat',
    'chmod',
    'chown',
    'echo',
    'id',
    'mkdir',
    'pwd',
    'rm',
    'stat',
    'touch',
    'true',
  ];
  const content = makeBusyboxFolder(applets);
  const accounts = ['app:x:1500:1500::/home/app:', 'nobody:x:65534:65534::/nonexistent:'];
  writeFileSync(join(content, 'etc/passwd'), ['root:x:0:0::/root:', ...accounts, ''].join('\n'));
  writeFileSync(join(content, 'etc/group'), 'root:x:0:\napp:x:1500:\nstaff:x:50:\n');
  mkdirSync(join(content, 'home/app'), { recursive: true });
  const dataDir = mkdtempSync(join(tmpdir(), `skerry-run-config-${level}-`));
  const { build } = createTemplateBuilds(() => stack);
  const image = (name: keyof typeof images): Source => ({ fromImage: `${registry.host}/test/${name}` });

  beforeAll(async () => {
    registry = await startDebianRegistry();
    for (const [name, config] of Object.entries(images))
      await registry.push(`test/${name}`, { folder: content, env: ['PATH=/bin', 'COLOUR=blue'], config });
    stack = await startStack({ dataDir, args: ['--registry', registry.host, '--isolation', level] });
  });
  afterAll(async () => {
    await stack.down();
    await registry[Symbol.asyncDispose]();
    for (const path of [content, dataDir]) rmSync(path, { recursive: true, force: true });
  });

  let count = 0;
  const make = async (body: object): Promise<{ fromTemplate: string }> => {
    const name = `made-${++count}`;
    const done = await build(name, body);
    expect(done.reason).toBeUndefined();
    return { fromTemplate: name };
  };
  const create = (template: string): Promise<Sandbox> =>
    Sandbox.create({ ...stack.connection, template, timeoutMs: 300_000 });
  const see = async (sandbox: Sandbox, options: object = {}): Promise<string> =>
    (await sandbox.commands.run(report, options)).stdout.trimEnd();
  const seeOne = async ({ fromTemplate }: { fromTemplate: string }): Promise<string> => {
    await using sandbox = await create(fromTemplate);
    return await see(sandbox);
  };
  const readNotes = async ({ fromTemplate }: { fromTemplate: string }): Promise<string[]> => {
    await using sandbox = await create(fromTemplate);
    return (await sandbox.files.read('/opt/seen')).trimEnd().split('\n');
  };
  const makeChanging = () => make({ ...image('plain'), steps: changing });

  describe(`how processes of a template run at level ${level}`, () => {
    it.each<{
      kind: string;
      from: () => Source | Promise<Source>;
      user: string;
      folder: string;
      token?: string;
    }>([
      { kind: 'an image that names nothing', from: () => image('plain'), user: 'user', folder: '/home/user' },
      {
        kind: 'an image that names a user, and a folder that it lacks',
        from: () => image('named'),
        ...{ user: 'app', folder: '/srv/image/in' },
      },
      { kind: 'an image that names a user and a group', from: () => image('user'), user: 'app', folder: '/' },
      {
        kind: 'an image that names a folder',
        from: () => image('folder'),
        user: 'user',
        folder: '/srv/image',
      },
      {
        kind: 'a template whose steps set all',
        from: makeChanging,
        user: 'root',
        folder: '/app',
        token: 'set',
      },
      {
        kind: 'a template of a template',
        from: async () => make({ ...(await makeChanging()), steps: [step('WORKDIR', 'in')] }),
        ...{ user: 'root', folder: '/app/in', token: 'set' },
      },
      {
        kind: 'a template of a Dockerfile',
        from: () => {
          const steps = [
            ['ENV', 'TOKEN', 'set'],
            ['USER', 'app'],
            ['WORKDIR', '/app'],
          ] as const;
          const body = { ...image('folder'), imageConfig: true };
          return make({ ...body, steps: steps.map(([type, ...args]) => ofDockerfile(type, ...args)) });
        },
        ...{ user: 'app', folder: '/app', token: 'set' },
      },
      {
        kind: 'a template of a Dockerfile that names nothing',
        from: () => make({ ...image('plain'), imageConfig: true, steps: [step('RUN', 'true')] }),
        ...{ user: 'user', folder: '/home/user' },
      },
      {
        kind: 'a template of a Dockerfile that names a user without a home',
        from: () => make({ ...image('plain'), imageConfig: true, steps: [ofDockerfile('USER', 'nobody')] }),
        ...{ user: 'nobody', folder: '/' },
      },
      {
        kind: 'a snapshot of a sandbox',
        from: async () => {
          await using sandbox = await create((await makeChanging()).fromTemplate);
          return { fromTemplate: (await sandbox.createSnapshot({ memory: false })).snapshotId };
        },
        ...{ user: 'root', folder: '/app', token: 'set' },
      },
    ])(
      'is as in $kind, until a step of a build on it changes that',
      async ({ from, user, folder, token = '' }) => {
        const source = await from();
        // Without a step, with one that changes nothing, and with each change after the other.
        expect(await seeOne(await make(source))).toBe(`${user} ${folder} [blue] []`);
        expect(await seeOne(await make({ ...source, steps: [begin] }))).toBe(`${user} ${folder} [blue] []`);
        const steps = [step('ENV', 'TOKEN', 'own'), step('USER', 'worker'), step('WORKDIR', '/own')];
        const changed = await make({
          ...source,
          steps: [begin, note, ...steps.flatMap((one) => [one, note])],
        });
        expect(await readNotes(changed)).toEqual([
          `${user} ${folder} [blue] [${token}]`,
          `${user} ${folder} [blue] [own]`,
          `worker ${folder === '/home/user' ? '/home/worker' : folder} [blue] [own]`,
          'worker /own [blue] [own]',
        ]);
        expect(await seeOne(changed)).toBe('worker /own [blue] []');
      },
    );

    it.each([
      {
        does: 'the variables',
        own: step('ENV', 'TOKEN', 'own'),
        begins: 'root /app [blue] []',
        first: 'root /app [blue] [own]',
      },
      {
        does: 'the folder',
        own: step('WORKDIR', 'own'),
        begins: 'root /app/own [blue] []',
        first: 'root /app/own [blue] [set]',
      },
      {
        does: 'the user',
        own: step('USER', 'worker'),
        begins: 'worker /app [blue] []',
        first: 'worker /app [blue] [set]',
      },
    ])(
      'passes on what a build changes, $does alone, also when the build is taken from the cache',
      async ({ own, begins, first }) => {
        const parent = await makeChanging();
        for (const isCached of [false, true]) {
          const name = `changed-${own.type.toLowerCase()}`;
          const done = await build(name, { ...parent, steps: [own, step('RUN', 'true')] });
          expect(messagesOf(done).some((message) => message.startsWith('CACHED step'))).toBe(isCached);
          const child = { fromTemplate: name };
          expect(await seeOne(child)).toBe(begins);
          expect(await readNotes(await make({ ...child, steps: [begin, note] }))).toEqual([first]);
        }
      },
    );

    it('has the user of a Dockerfile on a template in its folder, as Docker has that of an image', async () => {
      const isDockerfile = { imageConfig: true, steps: [begin, note] };
      expect(await readNotes(await make({ ...(await makeChanging()), ...isDockerfile }))).toEqual([
        'root /app [blue] [set]',
      ]);
      expect(await readNotes(await make({ ...(await make(image('plain'))), ...isDockerfile }))).toEqual([
        'root / [blue] []',
      ]);
    });

    it('ends with what a call names itself, and files are where and of whom the protocol has them', async () => {
      const steps = [step('USER', 'worker'), step('WORKDIR', '/app')];
      const { fromTemplate } = await make({ ...image('plain'), steps });
      await using sandbox = await create(fromTemplate);
      expect(await see(sandbox)).toBe('worker /app [blue] []');
      expect(await see(sandbox, { user: 'root' })).toBe('root /app [blue] []');
      expect(await see(sandbox, { cwd: '/opt' }).catch((error: Error) => error.message)).toContain(
        '"/opt" does not exist',
      );
      expect(await see(sandbox, { cwd: '/bin' })).toBe('worker /bin [blue] []');
      expect(await see(sandbox, { cwd: '~' })).toBe('worker /home/worker [blue] []');
      expect(await see(sandbox, { user: 'user', cwd: '~', envs: { COLOUR: 'red' } })).toBe(
        'user /home/user [red] []',
      );
      let output = '';
      const onData = (data: Uint8Array): void => {
        output += Buffer.from(data).toString();
      };
      const terminal = await sandbox.pty.create({ cols: 200, rows: 24, command: report, onData });
      await terminal.wait();
      expect(output).toContain('worker /app [blue] []');
      await sandbox.files.write('here', 'text');
      const owner = await sandbox.commands.run('stat -c "%n %U" /home/worker/here');
      expect(owner.stdout).toBe('/home/worker/here worker\n');
      await sandbox.files.write('/app/mark', '');
      expect((await sandbox.files.list('')).map(({ name }) => name)).toEqual(['mark']);
      expect(await sandbox.files.read('here', { user: 'worker' })).toBe('text');
    });

    it('stays so over pauses and in forks, snapshots and what is built on these', async () => {
      const { fromTemplate } = await makeChanging();
      const begins = 'root /app [blue] []';
      await using sandbox = await create(fromTemplate);
      for (const memory of [true, false]) {
        await sandbox.pause({ memory });
        const resumed = await Sandbox.connect(sandbox.sandboxId, stack.connection);
        expect(await see(resumed)).toBe(begins);
        const [copy] = await Sandbox.fork(sandbox.sandboxId, stack.connection);
        if (!(copy instanceof Sandbox)) throw new Error('the fork failed', { cause: copy });
        expect(await see(copy)).toBe(begins);
        await copy.kill();
        const { snapshotId } = await resumed.createSnapshot({ memory });
        expect(await seeOne({ fromTemplate: snapshotId })).toBe(begins);
      }
    });

    it('is that of the start command, which a build on the template keeps where it ran', async () => {
      const start = { startCmd: `${report} > /opt/started`, readyCmd: 'test -e /opt/started' };
      const steps = [
        begin,
        step('RUN', 'chmod 777 /opt', 'root'),
        step('USER', 'worker'),
        step('ENV', 'TOKEN', 'set'),
      ];
      const parent = await make({ ...image('plain'), steps, ...start });
      const child = await make({ ...parent, steps: [step('USER', 'root'), step('WORKDIR', '/own')] });
      for (const [{ fromTemplate }, begins] of [
        [parent, 'worker /home/worker [blue] []'],
        [child, 'root /own [blue] []'],
      ] as const) {
        await using sandbox = await create(fromTemplate);
        expect(await sandbox.files.read('/opt/started')).toBe('worker /home/worker [blue] [set]\n');
        expect(await see(sandbox)).toBe(begins);
      }
    });

    it('is refused where no folder or user of that kind can be', async () => {
      const refuse = async (body: object) => (await build('refused', body)).reason;
      const steps = [step('USER', 'worker'), step('WORKDIR', 'app')];
      expect(await refuse({ ...image('plain'), steps })).toMatchObject({
        step: '2',
        message: expect.stringContaining('"app" is in the home of the user "worker"'),
      });
      expect(
        await refuse({ ...image('plain'), steps: [step('USER', 'nobody'), step('RUN', 'true')] }),
      ).toMatchObject({
        step: '2',
        message: expect.stringContaining("the home of the user 'nobody' does not exist"),
      });
      expect(await refuse(image('unusable'))).toMatchObject({
        step: 'base',
        message: 'the image has the user "no one", which no sandbox can have',
      });
    });
  });
};
