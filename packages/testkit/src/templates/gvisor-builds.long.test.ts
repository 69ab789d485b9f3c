// Builds at level gvisor, whose sentry runs the steps: files, stages, cache and start command.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { build, Template } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive } from './archive.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';

let stack: Stack;
let registry: DebianRegistry;
let image: string;
const busybox = makeBusyboxFolder([
  ...['sh', 'cat', 'echo', 'id', 'chown', 'chmod', 'mkdir', 'stat', 'httpd', 'wget', 'ln', 'rm'],
  ...['ls', 'sleep', 'test', 'true', 'touch'],
]);
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-gvisor-builds-'));
const context = mkdtempSync(join(tmpdir(), 'skerry-gvisor-context-'));

beforeAll(async () => {
  registry = await startDebianRegistry();
  image = `${registry.host}/test/busybox`;
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
  stack = await startStack({ dataDir, args: ['--registry', registry.host, '--isolation', 'gvisor'] });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, dataDir, context]) rmSync(folder, { recursive: true, force: true });
});

const buildText = (name: string, text: string) =>
  build(Template.fromDockerfile(text), name, { ...stack.connection, context, cpuCount: 1, memoryMb: 256 });
const failureOf = (text: string): Promise<unknown> =>
  buildText('refused', text)
    .result()
    .catch((error: unknown) => error);

it('copies files and stages, takes steps from the cache, and starts with a server that runs', async () => {
  mkdirSync(join(context, 'src'));
  writeFileSync(join(context, 'src/code'), 'one\n');
  const entries = [
    { name: 'lib/', type: 'directory', mode: 0o2750, uid: 3001, gid: 3002 },
    { name: 'lib/code', mode: 0o640, uid: 3001, gid: 3003, content: 'vendored\n' },
  ] as const;
  writeFileSync(join(context, 'archive.bin'), await makeArchive(entries));
  const text = `FROM ${image} AS made
RUN mkdir -m 0750 /out && echo a > /out/a && ln /out/a /out/hard && ln -s a /out/soft
RUN chown -R 5:6 /out && chmod 4711 /out/a
FROM ${image}
WORKDIR /srv/app
ADD archive.bin vendor/
COPY --from=made /out tree/
COPY --chown=7:8 --chmod=0600 src/ src/
RUN cat src/code tree/a vendor/lib/code > all
USER 2001:2002
HEALTHCHECK CMD wget -q -O /dev/null http://127.0.0.1:8000/all
ENTRYPOINT ["httpd", "-f", "-p", "8000"]
`;
  const listCached = async (): Promise<string[]> => {
    const lines: string[] = [];
    for await (const { message } of buildText('project', text)) lines.push(message);
    return lines.flatMap((line) => /^CACHED step (\d+)/.exec(line)?.[1] ?? []);
  };
  expect(await listCached()).toEqual([]);
  writeFileSync(join(context, 'src/code'), 'two\n');
  expect(await listCached()).toEqual(['1', '2', '3', '4', '5']);
  expect(await listCached()).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
  const template = 'project';
  await using sandbox = await Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
  const run = async (command: string): Promise<string[]> => {
    const { stdout } = await sandbox.commands.run(`PATH=/bin; cd /srv/app; ${command}`, { user: 'root' });
    return stdout.trimEnd().split('\n');
  };
  expect(await run('wget -q -O - http://127.0.0.1:8000/all')).toEqual(['two', 'a', 'vendored']);
  expect(await run("stat -c '%n %a %u:%g %h' tree/* src src/code vendor/lib vendor/lib/code")).toEqual([
    ...['tree/a 4711 5:6 2', 'tree/hard 4711 5:6 2', 'tree/soft 777 5:6 1'],
    ...['src 755 7:8 2', 'src/code 600 7:8 1'],
    ...['vendor/lib 2750 3001:3002 2', 'vendor/lib/code 640 3001:3003 1'],
  ]);
});

it('refuses by name what its files cannot have: an attribute, and an owner that the sandbox does not have', async () => {
  const pax = { 'SCHILY.xattr.user.note': 'kept' };
  writeFileSync(join(context, 'noted.bin'), await makeArchive([{ name: 'noted', content: 'x', pax }]));
  expect(await failureOf(`FROM ${image}\nADD noted.bin /to/\n`)).toMatchObject({
    line: 2,
    message: expect.stringContaining(
      'the entry "noted" of the archive has the extended attribute user.note, and the sandbox cannot store any',
    ),
  });
  expect(await failureOf(`FROM ${image}\nCOPY --chown=70000:1 src/code /to/\n`)).toMatchObject({
    line: 2,
    message: expect.stringContaining('has the owner 70000:1, and the sandbox has no such id'),
  });
});

it('begins with the files of a snapshot that has processes too', async () => {
  const from = (template: string) => Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
  const small = { ...stack.connection, cpuCount: 1, memoryMb: 256 };
  await build(Template().fromImage(image), 'lower', small).result();
  const source = await from('lower');
  await source.commands.run('PATH=/bin; echo kept > /root/kept; ln -s kept /root/link; rm /bin/wget', {
    user: 'root',
  });
  const { snapshotId } = await source.createSnapshot();
  await source.kill();
  const steps = Template().fromTemplate(snapshotId).user('root').run('cat /root/link > /root/copy');
  await build(steps, 'upper', small).result();
  await using sandbox = await from('upper');
  const { stdout } = await sandbox.commands.run('PATH=/bin; cat /root/copy; echo /bin/w*', { user: 'root' });
  expect(stdout).toBe('kept\n/bin/w*\n');
});

it('mounts for one RUN alone, and ends what a RUN has left in the background', async () => {
  writeFileSync(join(context, 'input'), 'input\n');
  const text = (count: string) => `FROM ${image}
RUN mkdir -p /cache/of/image && echo own > /cache/own
RUN --mount=type=cache,target=/cache,id=a --mount=type=bind,source=input,target=/in --mount=type=tmpfs,target=/scratch \\
    echo ${count} >> /cache/kept && touch /scratch/x && cat /in /cache/kept > /seen
RUN (while true; do echo x >> /noise; sleep 0.1; done) & while ! test -s /noise; do true; done
RUN rm /noise; sleep 1; ls -A / /cache > /after
`;
  const readAll = async (): Promise<string> => {
    await using sandbox = await Sandbox.create({ ...stack.connection, template: 'mounted' });
    return (await sandbox.commands.run('PATH=/bin; cat /seen /after', { user: 'root' })).stdout;
  };
  await buildText('mounted', text('one')).result();
  const first = await readAll();
  expect(first).toMatch(/^input\none\n/);
  expect(first).toMatch(/\/cache:\nof\nown\n$/);
  for (const name of ['noise', 'in', 'scratch', '.skerry-aside'])
    expect(first.split('\n')).not.toContain(name);
  await buildText('mounted', text('two')).result();
  expect(await readAll()).toMatch(/^input\none\ntwo\n/);
});
