import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Sandbox } from '@skerry/sdk';
import { buildCache } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';
import { createTemplateBuilds } from './template-builds.ts';

const username = 'someone-of-this-test';
const password = 'a-password-of-this-test';
const argument = 'an-argument-of-this-test';
const variable = 'a-variable-of-this-test';

let stack: Stack;
let registry: DebianRegistry;
const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'chown', 'mkdir', 'test', 'sleep', 'env']);
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-secrets-'));
const builds = createTemplateBuilds(() => stack);

beforeAll(async () => {
  registry = await startDebianRegistry({ credentials: { username, password } });
  await registry.push('test/private', { folder: busybox, env: ['PATH=/bin'] });
  stack = await startStack({ dataDir, args: ['--registry', registry.host, '--log-level', 'debug'] });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, dataDir]) rmSync(folder, { recursive: true, force: true });
});

/** In the forms in which it could be written down. */
const toForms = (secret: string): string[] => [secret, btoa(secret), encodeURIComponent(secret)];
const passwordForms = [...toForms(password), btoa(`${username}:${password}`)];

/** The processes of this host that have a secret in what any user may read of them, or in their variables. */
const findProcesses = (secrets: readonly string[], file: 'cmdline' | 'environ'): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const text = readFileSync(`/proc/${pid}/${file}`, 'utf8');
        return secrets.some((secret) => text.includes(secret)) ? [`${pid} ${file}`] : [];
      } catch {
        return []; // The process has just ended.
      }
    });

/** The files of a folder that have one of the texts, also those of the database and of images. */
const findFiles = (folder: string, texts: readonly string[]): string[] => {
  try {
    const patterns = texts.flatMap((text) => ['-e', text]);
    const options = ['-rlazF', '--devices=skip', ...patterns, folder];
    return execFileSync('grep', options, { encoding: 'utf8' }).trim().split('\n');
  } catch (error) {
    // grep found nothing.
    if ((error as { status?: number }).status === 1) return [];
    throw error;
  }
};

it('a build shows no credentials and no build argument, in any reply, log, error, file or process', async () => {
  const fromImage = `${registry.host}/test/private`;
  const toRegistry = (given: string) => ({ type: 'registry', username, password: given });
  const replies: unknown[] = [];
  const seen = new Set<string>();
  const build = async (name: string, body: object) => {
    const registered = await builds.register(name);
    await builds.start(registered, body);
    for (;;) {
      for (const found of findProcesses([...passwordForms, argument], 'cmdline')) seen.add(found);
      for (const found of findProcesses(passwordForms, 'environ')) seen.add(found);
      const info = await builds.readStatus(registered);
      if (info.status !== 'ready' && info.status !== 'error') {
        await sleep(20);
        continue;
      }
      replies.push(info);
      return info;
    }
  };
  const refused = await build('none', { fromImage });
  expect(refused).toMatchObject({ status: 'error', reason: { step: 'base' } });
  expect(refused.reason?.message).toContain('requires a user name');
  const wrong = await build('wrong', { fromImage, fromImageRegistry: toRegistry(`${password}-not`) });
  expect(wrong).toMatchObject({ status: 'error', reason: { step: 'base' } });
  expect(wrong.reason?.message).toContain('401');

  const steps = [
    { type: 'ARG', args: ['TOKEN', argument] },
    { type: 'RUN', args: [`test $TOKEN = ${argument.slice(0, 3)}"${argument.slice(3)}" && echo told`] },
    { type: 'RUN', args: ['echo kept > kept'] },
  ];
  const private_ = { fromImage, fromImageRegistry: toRegistry(password) };
  const ready = await build('private', { ...private_, steps, startCmd: 'exec sleep 1000', readyCmd: 'true' });
  expect(ready.reason).toBeUndefined();
  const failing = { type: 'RUN', args: ['test $TOKEN = other'] };
  const failed = await build('failing', { ...private_, steps: [steps[0], failing] });
  expect(failed.reason).toMatchObject({ step: '2', message: expect.stringContaining('test $TOKEN') });
  const { api, connection } = stack;
  const path = { templateID: 'private' };
  replies.push(
    (await api.GET('/templates')).data,
    (await api.GET('/templates/{templateID}', { params: { path } })).data,
    await buildCache.list(connection),
  );
  const sandbox = await Sandbox.create({ ...connection, template: 'private' });
  expect((await sandbox.commands.run('cat /home/user/kept; env')).stdout).not.toContain(argument);
  await sandbox.pause({ memory: false });

  const secrets = [...passwordForms, argument];
  expect([...seen]).toEqual([]);
  for (const secret of secrets) {
    expect(JSON.stringify(replies)).not.toContain(secret);
    expect(stack.log()).not.toContain(secret);
  }
  // The database, images, cached files, checkpoints and disks.
  expect(findFiles(dataDir, secrets)).toEqual([]);
  await Sandbox.kill(sandbox.sandboxId, connection);
});

it('the database has no value of an ENV step, which the start command and builds on the template have', async () => {
  const expectNoValue = (): void => {
    const databases = readdirSync(dataDir).filter((name) => name.startsWith('skerry.db'));
    expect(databases).not.toEqual([]);
    for (const name of databases) expect(findFiles(join(dataDir, name), toForms(variable))).toEqual([]);
  };
  const source = {
    fromImage: `${registry.host}/test/private`,
    fromImageRegistry: { type: 'registry', username, password },
  };
  const parent = await builds.build('parent', {
    ...source,
    steps: [{ type: 'ENV', args: ['TOKEN', variable] }],
    startCmd: 'echo $TOKEN > /home/user/started; exec sleep 1000',
    readyCmd: 'test -e /home/user/started',
  });
  expect(parent.reason).toBeUndefined();
  expectNoValue();
  const steps = [{ type: 'RUN', args: [`test $TOKEN = ${variable.slice(0, 3)}"${variable.slice(3)}"`] }];
  const child = await builds.build('child', { fromTemplate: 'parent', steps });
  expect(child.reason).toBeUndefined();
  const sandbox = await Sandbox.create({ ...stack.connection, template: 'child' });
  expect(await sandbox.files.read('started')).toBe(`${variable}\n`);
  await sandbox.kill();
  expectNoValue();
});
