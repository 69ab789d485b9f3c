import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type ClosedRegistry, startClosedRegistry } from './closed-registry.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';

let stack: Stack;
let registry: DebianRegistry;
let closed: ClosedRegistry;
const busybox = makeBusyboxFolder([
  ...['sh', 'cat', 'echo', 'id', 'chown', 'mkdir', 'sleep', 'stat', 'httpd', 'wget', 'grep', 'ls'],
]);
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-template-commands-'));

beforeAll(async () => {
  registry = await startDebianRegistry();
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
  closed = await startClosedRegistry(registry.host, { user: 'someone', password: 'hunter2' });
  const registries = [registry.host, closed.host];
  stack = await startStack({ dataDir, args: registries.flatMap((host) => ['--registry', host]) });
});
afterAll(async () => {
  await stack.down();
  await closed[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, dataDir]) rmSync(folder, { recursive: true, force: true });
});

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const skerry = (noun: string, verb: string, ...argv: string[]): Promise<Ended> =>
  skerryWith({}, noun, verb, ...argv);

const skerryWith = (env: NodeJS.ProcessEnv, noun: string, verb: string, ...argv: string[]): Promise<Ended> =>
  promisify(execFile)(process.execPath, [skerryProgram, noun, verb, '--data', dataDir, ...argv], {
    env: { ...process.env, ...env },
  }).then(
    (ended) => ({ code: 0, ...ended }),
    (error: Ended) => error,
  );

const makeProject = (files: Record<string, string>): string => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-project-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
};

const parseLines = (text: string): unknown[] =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));

it('builds the Dockerfile of a folder, lists, shows and deletes the template', async () => {
  const folder = makeProject({
    Dockerfile: `ARG NAME
FROM \${NAME}
ARG GREETING=hello
WORKDIR /srv
RUN <<EOF
echo "$GREETING" > greeting
id -un >> greeting
echo "$no_proxy" >> greeting
EOF
ENV VERSION=1
RUN echo worker:x:1500:1500::/home/worker:/bin/sh >> /etc/passwd && mkdir /home/worker && chown worker /home/worker
USER worker
RUN echo "$VERSION" > "/home/worker/version"
LABEL kept=no
`,
  });
  const image = `NAME=${registry.host}/test/busybox`;
  const built = await skerry(
    ...(['template', 'build'] as const),
    ...['--build-arg', image, '--build-arg', 'GREETING=hi', '--build-arg', 'no_proxy=a.test'],
    ...['--cpu', '1', '--memory', '256', '--tag', 'stable', 'greeter', folder],
  );
  expect(built).toMatchObject({ code: 0, stdout: 'greeter:stable\n' });
  expect(built.stderr).toContain(`FROM ${registry.host}/test/busybox\n`);
  expect(built.stderr).toContain('echo "$VERSION"');
  expect(built.stderr).toMatch(
    /^ {2}pulling layer 1 of 1, \d+\.\d MiB \(0\.0 MiB of \d+\.\d MiB received\)$/m,
  );
  expect(built.stderr).toMatch(/^\[\d+ s\] step 1: /m);
  expect(built.stderr).toMatch(/\nbuilt greeter:stable in \d+ s\n$/);

  const ran = await skerry(
    'sandbox',
    'run',
    '--template',
    'greeter:stable',
    '--',
    'sh',
    '-c',
    'cat /srv/greeting /home/worker/version; echo "${no_proxy-none}"',
  );
  expect(ran).toMatchObject({ code: 0, stdout: 'hi\nroot\na.test\n1\nnone\n' });

  const { stdout: table } = await skerry('template', 'list');
  expect(table).toMatch(/^NAME +ID +STATUS +CPU +MEMORY +LEVEL +BUILDS +UPDATED\n/);
  expect(table).toMatch(/^greeter +\S+ +ready +1 +256 MiB +- +1 +\d+s$/m);
  const [shown] = parseLines((await skerry('template', 'show', '--json', 'greeter')).stdout);
  expect(shown).toMatchObject({ aliases: ['greeter'], buildStatus: 'ready' });
  expect((await skerry('template', 'show', 'local/greeter')).stdout).toContain('memory     256 MiB\n');
  expect((await skerry('template', 'logs', 'greeter')).stdout).toMatch(/Z {2}info {3}base {6}FROM /);
  expect(await skerry('template', 'delete', 'greeter')).toMatchObject({ code: 0, stdout: '' });
  expect(await skerry('template', 'delete', 'greeter')).toMatchObject({
    code: 1,
    stderr: 'skerry: no template greeter\n',
  });
  expect(await skerry('template', 'show', 'greeter')).toMatchObject({
    code: 1,
    stderr: 'skerry: no template greeter\n',
  });
});

it('builds a project with the files that .dockerignore leaves, and its server runs in each sandbox', async () => {
  const folder = makeProject({
    Dockerfile: `FROM ${registry.host}/test/busybox
ARG ROOT=/srv/www
WORKDIR $ROOT
COPY --chmod=0644 site/*.html site/assets ./
COPY . /srv/all/
EXPOSE 8000
USER 1500
HEALTHCHECK --interval=1s CMD wget -q -O /dev/null http://127.0.0.1:8000/index.html
ENTRYPOINT ["httpd", "-f", "-p", "8000"]
CMD ["-h", "/srv/www"]
`,
    '.dockerignore': '# not for the image\nnode_modules\n**/*.log\nDockerfile\n',
    'site/index.html': '<h1>it works</h1>\n',
    'site/about.html': 'about\n',
    'site/assets/style.css': 'h1 {}\n',
    'site/debug.log': 'no',
    'node_modules/x/index.js': 'no',
    'notes.txt': 'n',
  });
  expect(await skerry('template', 'build', 'site', folder)).toMatchObject({ code: 0, stdout: 'site\n' });
  const run = async (command: string): Promise<string> =>
    (await skerry('sandbox', 'run', '--template', 'site', '--', 'sh', '-c', command)).stdout;
  expect(await run('wget -q -O - http://127.0.0.1:8000/; ls /srv/www; cd /srv/all; ls -A . site')).toBe(
    '<h1>it works</h1>\nabout.html\nindex.html\nstyle.css\n' +
      '.:\n.dockerignore\nnotes.txt\nsite\n\nsite:\nabout.html\nassets\nindex.html\n',
  );
  expect(await skerry('template', 'tag', 'site', 'live')).toMatchObject({ code: 0, stdout: '' });
  expect((await skerry('template', 'tag', 'site')).stdout).toMatch(/^live {2}/m);
  expect(await skerry('template', 'tag', '--delete', 'site', 'live')).toMatchObject({ code: 0 });
  expect((await skerry('template', 'tag', 'site')).stdout).not.toContain('live');
});

it('sends the credentials that Docker would use for an image, for that image alone', async () => {
  const helper = `#!/bin/sh
read registry
[ "$registry" = "${closed.host}" ] && echo '{"Username":"someone","Secret":"hunter2"}'
`;
  const config = JSON.stringify({ credHelpers: { [closed.host]: 'testing' } });
  const folder = makeProject({
    Dockerfile: `FROM ${closed.host}/test/busybox AS closed
FROM ${registry.host}/test/busybox
COPY --from=closed /etc/passwd /closed
COPY --from=${closed.host}/test/busybox /etc/group /group
`,
    'docker/config.json': config,
    'home/.docker/config.json': config,
    'bin/docker-credential-testing': helper,
  });
  chmodSync(join(folder, 'bin/docker-credential-testing'), 0o755);
  const env = {
    DOCKER_CONFIG: join(folder, 'docker'),
    PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
  };
  const built = await skerryWith(env, 'template', 'build', 'from-closed', folder);
  expect(built).toMatchObject({ code: 0, stdout: 'from-closed\n' });
  const from = ['--from', `${closed.host}/test/busybox`];
  const again = await skerryWith(env, 'template', 'build', ...from, 'from-closed');
  expect(again).toMatchObject({ code: 0 });
  const logs = await skerry('template', 'logs', 'from-closed');
  for (const { stdout, stderr } of [built, again, logs]) expect(stdout + stderr).not.toContain('hunter2');

  // Tests read nothing in the home of the developer: `vitest.config.ts` sets DOCKER_CONFIG.
  const ofDeveloper = { HOME: join(folder, 'home'), PATH: env.PATH };
  const without = await skerryWith(ofDeveloper, 'template', 'build', ...from, 'from-closed');
  expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('requires a user name') });
});

it('prints each line of a log and the result as JSON, also an error', async () => {
  const from = ['--json', '--from', `${registry.host}/test/busybox`];
  const built = await skerry('template', 'build', ...from, 'as-json');
  const lines = parseLines(built.stdout);
  expect(lines[0]).toMatchObject({ step: 'base', level: 'info', time: expect.any(String) });
  expect(lines.at(-1)).toEqual({
    templateId: expect.any(String),
    buildId: expect.any(String),
    name: 'as-json',
    tags: ['default'],
  });
  const folder = makeProject({ Dockerfile: `FROM ${registry.host}/test/busybox\nRUN exit 3\n` });
  const failed = await skerry('template', 'build', '--json', 'failed', folder);
  expect(failed).toMatchObject({ code: 1, stderr: '' });
  expect(parseLines(failed.stdout).at(-1)).toEqual({
    error: { code: 'build_failed', message: expect.stringContaining('exit status 3'), step: '1', line: 2 },
  });
});

it('ends with 1 and one line for a build that fails, and for what is asked wrongly', async () => {
  const folder = makeProject({
    Dockerfile: `FROM ${registry.host}/test/busybox\nRUN echo why >&2; exit 3\n`,
    Refused: 'FROM a\nRUN --mount=type=secret,id=a true\n',
  });
  const failed = await skerry('template', 'build', 'failed', folder);
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toContain('  why\n');
  expect(failed.stderr).toMatch(/skerry: line 2 of the Dockerfile: failed to run command .*exit status 3\n$/);
  for (const [argv, stderr] of [
    [
      ['x', folder, '--file', join(folder, 'Refused')],
      /^skerry: line 2: RUN --mount=type=secret is not supported/,
    ],
    [['x', folder, '--build-arg', 'A=1'], /no ARG for the build arguments A/],
    [['x', join(folder, 'none')], /^skerry: no file .*none\/Dockerfile/],
    [['x', '--from', 'a', '--file', 'b'], /--from does not go with --file/],
    [['x', '--ready-made', 'node', '--from', 'a'], /--ready-made does not go with --file and --from/],
    [['--from', 'a'], /the template needs a name/],
    [['x', folder, '--target', 'none'], /the Dockerfile has no stage "none"/],
  ] as const)
    expect(await skerry('template', 'build', ...argv)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(stderr),
    });
});
