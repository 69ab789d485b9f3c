import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import {
  type BuildProgress,
  build,
  Template,
  TemplateBuildError,
  templates,
  waitForFile,
} from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';

let stack: Stack;
let registry: DebianRegistry;
const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'id', 'chown', 'stat', 'sleep', 'pwd', 'mkdir']);
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-builder-'));

beforeAll(async () => {
  registry = await startDebianRegistry();
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin', 'COLOUR=blue'] });
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, dataDir]) rmSync(folder, { recursive: true, force: true });
});

const fromBusybox = () =>
  Template().fromImage(`${registry.host}/test/busybox`, {
    credentials: { username: 'someone', password: 'secret' },
  });

it('builds what the steps of a template describe, and shows each line meanwhile', async () => {
  const template = fromBusybox()
    .run(['echo $COLOUR > made', 'id -un >> made'])
    .env({ NAME: 'one', BOTH: '$NAME-$COLOUR' })
    .workdir('/srv/app')
    .run('echo $BOTH > here')
    .user('worker')
    .workdir('inner')
    .run('id -un > file; echo told')
    .run('cat /srv/app/here > /root/copy', { user: 'root' });
  const handle = build(template, 'built:v1', {
    ...stack.connection,
    tags: ['latest'],
    cpuCount: 1,
    memoryMb: 512,
    force: true,
  });
  const lines: BuildProgress[] = [];
  for await (const line of handle) lines.push(line);
  const result = await handle.result();
  expect(result).toMatchObject({ name: 'built', tags: ['v1', 'latest'] });
  expect(lines).toContainEqual({ step: '8', level: 'info', message: 'told', time: expect.any(Date) });
  expect(lines[0]).toMatchObject({ step: 'base', message: expect.stringContaining('FROM') });

  await using sandbox = await Sandbox.create({ ...stack.connection, template: 'built:v1' });
  const { stdout } = await sandbox.commands.run(
    'cat /home/user/made /srv/app/inner/file /root/copy; stat -c %U /srv/app /srv/app/inner',
    { user: 'root' },
  );
  expect(stdout).toBe('blue\nuser\nworker\none-blue\nuser\nworker\n');
  expect(await sandbox.getInfo()).toMatchObject({
    templateId: result.templateId,
    cpuCount: 1,
    memoryMiB: 512,
  });
});

it('copies files of the context, sends them once, and starts a command', async () => {
  const context = mkdtempSync(join(tmpdir(), 'skerry-context-'));
  onTestFinished(() => rmSync(context, { recursive: true }));
  mkdirSync(join(context, 'app/lib'), { recursive: true });
  writeFileSync(join(context, 'app/main.sh'), 'cat /srv/app/lib/text > /tmp/started; sleep 1000\n');
  writeFileSync(join(context, 'app/lib/text'), 'from a file\n');
  writeFileSync(join(context, 'app/secret'), 'never sent');
  writeFileSync(join(context, '.dockerignore'), '**/secret\n');
  symlinkSync('lib/text', join(context, 'app/link'));
  const template = fromBusybox()
    .copy('app', '/srv/app', { user: 'root' })
    .copy('app/**/text', '/srv/only/', { mode: 0o600 })
    .start('sh /srv/app/main.sh', { ready: waitForFile('/tmp/started') });
  const send = async (name: string, force = false): Promise<string[]> => {
    const handle = build(template, name, { ...stack.connection, context, force });
    const sent: string[] = [];
    for await (const { message } of handle) if (message.startsWith('sent ')) sent.push(message);
    return sent;
  };
  expect(await send('copied')).toEqual([
    'sent the files of COPY app /srv/app (5)',
    'sent the files of COPY app/**/text /srv/only/ (1)',
  ]);
  expect(await send('copied-again')).toEqual([]);
  await using sandbox = await Sandbox.create({ ...stack.connection, template: 'copied' });
  const command =
    'cat /tmp/started /srv/app/link; stat -c "%U %a %n" /srv/app/main.sh /srv/only/lib/text; echo /srv/app/*';
  expect((await sandbox.commands.run(command)).stdout).toBe(
    'from a file\nfrom a file\nroot 644 /srv/app/main.sh\nuser 600 /srv/only/lib/text\n' +
      '/srv/app/lib /srv/app/link /srv/app/main.sh\n',
  );
});

it('asks the service for nothing when a source is not in the context', async () => {
  const template = fromBusybox().copy('no-such-file', '/srv/');
  const handle = build(template, 'never', { ...stack.connection, context: busybox });
  await expect(handle.result()).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('"no-such-file" is not in the context'),
  });
  expect(await templates.exists('never', stack.connection)).toBe(false);
});

it('fails with the step, its message and the last lines, in the result and in the iteration', async () => {
  const template = fromBusybox()
    .run('true')
    .run('i=0; while [ $i -lt 150 ]; do echo $i; i=$((i+1)); done; exit 7');
  const handle = build(template, 'failing', stack.connection);
  const lines: BuildProgress[] = [];
  const reading = (async () => {
    for await (const line of handle) lines.push(line);
  })();
  const error = await handle.result().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(TemplateBuildError);
  expect(error).toMatchObject({
    code: 'build_failed',
    retryable: false,
    step: '2',
    line: undefined,
    message: expect.stringContaining('exit status 7'),
  });
  await expect(reading).rejects.toBe(error);
  const { lastLines } = error as TemplateBuildError;
  expect(lastLines).toHaveLength(20);
  expect(lastLines).toEqual(lines.slice(-20));
  expect(lastLines.map(({ message }) => message)).toContain('149');
});

it('names the line of a Dockerfile whose step failed', async () => {
  const file = `FROM ${registry.host}/test/busybox\n\n# first\nRUN true\nRUN echo why && \\\n  exit 3\n`;
  const handle = build(Template.fromDockerfile(file), 'failing-file', stack.connection);
  await expect(handle.result()).rejects.toMatchObject({ line: 5, step: '2' });
});

it('stops waiting when the signal aborts, and the build goes on', async () => {
  const controller = new AbortController();
  const template = fromBusybox().run('echo begun; sleep 3');
  const handle = build(template, 'left', { ...stack.connection, signal: controller.signal });
  for await (const { step } of handle) if (step === 'base') break;
  for await (const { message } of handle) if (message === 'begun') break;
  controller.abort(new Error('enough'));
  await expect(handle.result()).rejects.toMatchObject({ code: 'canceled', cause: new Error('enough') });
  await expect
    .poll(() => templates.exists('left', stack.connection).then(() => findStatus('left')), {
      timeout: 60_000,
    })
    .toBe('ready');
});

it('rejects with the error of the service for a request that it refuses', async () => {
  const refuse = (name: string, cpuCount?: number) =>
    build(fromBusybox(), name, { ...stack.connection, cpuCount }).result();
  await expect(refuse('not/a/name')).rejects.toMatchObject({ code: 'invalid_argument' });
  await expect(refuse('odd', 3)).rejects.toThrow('body.cpuCount');
  await expect(refuse('base')).rejects.toMatchObject({ code: 'conflict' });
  expect(() => build(fromBusybox(), 'x', { apiKey: '' })).toThrow('no API key');
});

const findStatus = async (name: string): Promise<string | undefined> =>
  (await templates.list(stack.connection)).find(({ aliases }) => aliases.includes(name))?.buildStatus;

it('points tags to builds, lists and removes them', async () => {
  const { buildId } = await build(fromBusybox(), 'tagged', stack.connection).result();
  await templates.addTags('tagged', ['v1', 'stable'], stack.connection);
  await templates.removeTags('tagged', ['v1'], stack.connection);
  const tags = await templates.listTags('tagged', stack.connection);
  expect(tags.map(({ tag }) => tag).toSorted()).toEqual(['default', 'stable']);
  expect(tags[0]).toEqual({ tag: expect.any(String), buildId, createdAt: expect.any(Date) });
  await expect(templates.addTags('tagged:none', ['x'], stack.connection)).rejects.toMatchObject({
    code: 'not_found',
  });
});

it('lists, finds and deletes templates', async () => {
  const { templateId, buildId } = await build(fromBusybox(), 'gone', stack.connection).result();
  const found = (await templates.list(stack.connection)).find((one) => one.templateId === templateId);
  expect(found).toMatchObject({ aliases: ['gone'], buildId, buildStatus: 'ready', buildCount: 1 });
  const messages: string[] = [];
  const onProgress = ({ message }: BuildProgress) => messages.push(message);
  expect(await templates.readBuildLog({ ...stack.connection, templateId, buildId, onProgress })).toBe(
    'ready',
  );
  expect(messages[0]).toContain('FROM');
  expect(await templates.exists('gone', stack.connection)).toBe(true);
  expect(await templates.delete('gone', stack.connection)).toBe(true);
  expect(await templates.delete('gone', stack.connection)).toBe(false);
  expect(await templates.exists('gone', stack.connection)).toBe(false);
});
