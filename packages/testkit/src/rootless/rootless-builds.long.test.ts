import { Sandbox } from '@skerry/sdk';
import { templates } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Stack } from '../stack/stack.ts';
import { makeArchive, toFilesHash } from '../templates/archive.ts';
import { createBuildClient } from '../templates/build-client.ts';
import { type DebianRegistry, startDebianRegistry } from '../templates/debian-registry.ts';
import { makeDockerArchive, pushBusybox } from './busybox-images.ts';
import { createRootlessUser, type RootlessUser } from './rootless-user.ts';

let user: RootlessUser;
let registry: DebianRegistry;
let stack: Stack;
beforeAll(async () => {
  user = await createRootlessUser();
  registry = await startDebianRegistry();
  await start();
});
afterAll(async () => {
  await stack?.down();
  await registry?.[Symbol.asyncDispose]();
  user.remove();
});

const start = async (): Promise<void> => {
  stack = await user.start(['--registry', registry.host]);
};
const run = async (sandbox: Sandbox, command: string): Promise<string> =>
  (await sandbox.commands.run(`${command} 2>&1 || true`)).stdout.trim();
const fromTemplate = (template: string): Promise<Sandbox> =>
  Sandbox.create({ ...stack.connection, template, timeoutMs: 600_000 });

it('a server of an ordinary user builds templates as folders, which sandboxes share and a deletion removes', async () => {
  await pushBusybox(registry);
  const { build, register, start: startBuild, upload } = createBuildClient(stack);
  const first = await register('first');
  const hash = toFilesHash('rootless');
  const archive = await makeArchive([{ name: 'file', content: 'copied' }]);
  expect(await upload(first.templateID, hash, archive)).toBe(204);
  const body = {
    fromImage: `${registry.host}/test/busybox`,
    steps: [
      { type: 'USER', args: ['worker'] },
      { type: 'WORKDIR', args: ['/srv/app'] },
      { type: 'ENV', args: ['NAME', 'one'] },
      { type: 'RUN', args: ['echo $NAME > made; echo x > setuid; chmod 4755 setuid'] },
      { type: 'RUN', args: ['rm -r /gone /replaced; mkdir /replaced; chown 70:80 /replaced', 'root'] },
      { type: 'COPY', args: ['file', 'kept', 'root', '604'], filesHash: hash },
    ],
  };
  const built = await build(first, body);
  expect(built.reason).toBeUndefined();
  expect(user.list('templates')).toEqual([
    expect.stringMatching(/^sha256-[0-9a-f]{64}$/),
    expect.stringMatching(/^sha256-[0-9a-f]{64}$/),
  ]);
  const messages = built.logEntries.map(({ message }) => message);
  expect(messages).toContain('not kept: this host cannot capture files');

  const look = `cat made kept; stat -c ' %U %G %a' made setuid kept; stat -c '%u:%g' /replaced; ls -A /replaced`;
  const sandboxes = await Promise.all([fromTemplate('first'), fromTemplate('first')]);
  for (const sandbox of sandboxes)
    expect(await run(sandbox, `cd /srv/app; ${look}; test -e /gone; echo $? $COLOUR`)).toBe(
      'one\ncopied worker worker 644\n worker worker 4755\n root root 604\n70:80\n1 blue',
    );
  await sandboxes[0]?.commands.run('echo mine > /srv/app/made', { user: 'root' });
  expect(await run(sandboxes[1] as Sandbox, 'cat /srv/app/made')).toBe('one');

  // All steps are found, and no sandbox is made.
  const again = await build(await register('again'), body);
  expect(again.logEntries.map(({ message }) => message).join('\n')).toMatch(/CACHED step 6: COPY/);
  expect(user.list('templates')).toHaveLength(2);

  const started = await register('started');
  const startCmd = 'echo yes > started; sleep 1000';
  expect(
    await build(started, { fromTemplate: 'first', startCmd, readyCmd: 'test -e started' }),
  ).toMatchObject({ status: 'ready' });
  const { data } = await stack.api.GET('/templates/{templateID}', {
    params: { path: { templateID: started.templateID } },
  });
  expect(data?.builds).toMatchObject([{ startsFrom: 'command' }]);
  const server = await fromTemplate('started');
  expect(await run(server, 'pwd; cat started; id -un')).toBe('/srv/app\nyes\nworker');

  const based = await build(await register('based'), {
    fromTemplate: 'base',
    steps: [{ type: 'RUN', args: ['sudo rm -r /usr/share/doc; git --version > git'] }],
  });
  expect(based.reason).toBeUndefined();
  const onBase = await fromTemplate('based');
  expect(await run(onBase, 'cat git; test -e /usr/share/doc; echo $?; sudo id -u')).toMatch(
    /^git version .*\n1\n0$/,
  );

  await templates.load('loaded', new Blob([await makeDockerArchive()]), stack.connection).result();
  const onLoaded = await fromTemplate('loaded');
  expect(await run(onLoaded, 'stat -c "%a %u:%g %h" /srv/one /srv/two /srv/able')).toBe(
    '4750 1234:65535 2\n4750 1234:65535 2\n644 0:0 1',
  );

  const saved = await stack.api.GET('/skerry/v1/images/{templateID}', {
    params: { path: { templateID: 'first' } },
  });
  expect([saved.response.status, saved.error?.message]).toEqual([501, expect.stringContaining('needs root')]);

  const remove = async (templateID: string): Promise<number> =>
    (await stack.api.DELETE('/templates/{templateID}', { params: { path: { templateID } } })).response.status;
  expect(await remove('first')).toBe(400);
  for (const sandbox of [...sandboxes, server, onBase, onLoaded]) await sandbox.kill();
  for (const name of ['first', 'again', 'started', 'based', 'loaded']) expect(await remove(name)).toBe(204);
  await stack.api.DELETE('/skerry/v1/build-cache', { params: { query: {} } });
  await expect.poll(() => user.list('templates')).toEqual([]);

  // Killed while it writes the image of a build.
  await startBuild(await register('killed'), {
    fromTemplate: 'base',
    steps: [{ type: 'RUN', args: ['echo > half'] }],
  });
  await expect.poll(() => user.list('templates').filter((name) => name.startsWith('.'))).toHaveLength(1);
  await stack.kill();
  await start();
  expect(user.list('templates')).toEqual([]);
  expect(user.list('sandboxes')).toEqual([]);
  expect(user.list('run').filter((name) => name.startsWith('export-'))).toEqual([]);
});
