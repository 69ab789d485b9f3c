import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { Sandbox } from '@skerry/sdk';
import { build, buildCache, type DockerfileOptions, Template } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive } from './archive.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';

let stack: Stack;
let registry: DebianRegistry;
let image: string;
const busybox = makeBusyboxFolder([
  ...['sh', 'cat', 'echo', 'id', 'chown', 'chmod', 'mkdir', 'sleep', 'stat', 'httpd', 'wget', 'ls', 'ln'],
  ...['tr', 'mktemp', 'rm', 'pwd', 'true', 'test', 'touch', 'head'],
]);
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-stages-'));
const started = 'echo "$0 $PATH" > /tmp/started; id -u >> /tmp/started; pwd >> /tmp/started; exec sleep 1000';

beforeAll(async () => {
  registry = await startDebianRegistry();
  image = `${registry.host}/test/busybox`;
  // The profile of Debian replaces the variable too.
  writeFileSync(join(busybox, 'etc/profile'), 'PATH=/none\n');
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/usr/local/bin:/bin'] });
  await registry.push('test/server', {
    folder: busybox,
    env: ['PATH=/opt/bin:/bin'],
    config: {
      User: '2001:2002',
      WorkingDir: '/work',
      Entrypoint: ['/bin/sh', '-c'],
      Cmd: [started, 'a b'],
      Healthcheck: { Test: ['CMD-SHELL', 'test -s /tmp/started'] },
    },
  });
  const config = { OnBuild: ['RUN touch /ran', 'USER 1'] };
  await registry.push('test/onbuild', { folder: busybox, config });
  await registry.push('test/shell', { folder: busybox, env: ['PATH=/bin'], config: { Cmd: ['sh'] } });
  const serve = 'sleep 1; echo late > /tmp/late; exec httpd -f -p 8000 -h /tmp';
  await registry.push('test/exposed', {
    folder: busybox,
    env: ['PATH=/bin'],
    config: { Entrypoint: ['/bin/sh', '-c'], Cmd: [serve], ExposedPorts: { '8000/tcp': {}, '53/udp': {} } },
  });
  const args = ['--registry', registry.host, '--image-map', 'test/captured=template:captured:v1'];
  stack = await startStack({ dataDir, args });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [busybox, dataDir]) rmSync(folder, { recursive: true, force: true });
});

const makeProject = (files: Record<string, string | Uint8Array>): string => {
  const folder = mkdtempSync(join(tmpdir(), 'skerry-project-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
};

const buildText = (name: string, text: string, options?: DockerfileOptions) =>
  build(Template.fromDockerfile(text, options), name, { ...stack.connection, cpuCount: 1, memoryMb: 256 });
const failureOf = async (name: string, text: string): Promise<unknown> =>
  buildText(name, text)
    .result()
    .catch((error: unknown) => error);
const create = (template: string): Promise<Sandbox> =>
  Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
/** The output of a login shell, whose profile hides the programs without a path. */
const run = async (sandbox: Sandbox, command: string): Promise<string> =>
  (await sandbox.commands.run(`PATH=/bin; ${command}`, { user: 'root' })).stdout;

it('builds a project of several stages by the command, without the stage that it does not need', async () => {
  const vendored = await makeArchive([
    { name: 'lib/', type: 'directory', mode: 0o750, uid: 3001, gid: 3002 },
    { name: 'lib/code', mode: 0o640, uid: 3001, gid: 3002, content: 'vendored\n' },
  ]);
  const folder = makeProject({
    Dockerfile: `# syntax=docker/dockerfile:1
ARG IMAGE
FROM \${IMAGE} AS base
ENV APP=/srv/app PATH=/srv/app/bin:$PATH
WORKDIR /srv/app

FROM base AS assets
COPY --chown=2001:2002 web/ web/
RUN <<END
mkdir dist && tr a-z A-Z < web/index.html > dist/index.html
chmod 0640 dist/index.html && chown -R 2001:2002 dist && chmod 0750 dist
ln dist/index.html dist/same.html && ln -s index.html dist/link.html
END

FROM base AS lint
RUN --mount=type=cache,target=/root/.cache exit 1

FROM base AS server
ADD vendor.bin notes.gz ./vendor/
COPY <<ONE <<'two' conf/
root=\${APP}/www
ONE
$APP
two
RUN <<END
#!/bin/cat
from a program
END
COPY --chmod=0755 bin/ bin/
RUN tool > made && ls /tmp > left

FROM server
RUN mkdir -m 0700 www
COPY --from=assets /srv/app/dist/ www/
COPY --from=assets /srv/app/dist/ fresh
COPY --from=assets /srv/app/d*/i*.html one.html
COPY --from=assets --chown=0:2003 /srv/app/dist/*.html many/
COPY --from=${image} /bin/busybox bin/other
USER 2001:2002
RUN id > /tmp/who; echo "$HOME" >> /tmp/who
HEALTHCHECK CMD wget -q -O /dev/null http://127.0.0.1:8000/one.html
ENTRYPOINT ["httpd", "-f"]
CMD ["-p", "8000"]
`,
    '.dockerignore': '# not for the image\nnode_modules\n**/*.log\n',
    'web/index.html': 'hello\n',
    'web/debug.log': 'no',
    'node_modules/x/index.js': 'no',
    'bin/tool': '#!/bin/sh\necho "tool of $0"\n',
    'vendor.bin': gzipSync(vendored),
    'notes.gz': gzipSync('no archive'),
  });
  const argv = ['template', 'build', '--data', dataDir, '--build-arg', `IMAGE=${image}`, 'project', folder];
  const built = await promisify(execFile)(process.execPath, [skerryProgram, ...argv]);
  expect(built.stdout).toBe('project\n');
  expect(built.stderr).toContain('  from a program\n');
  await using sandbox = await create('project');
  expect(
    await run(sandbox, 'cd /srv/app; cat one.html made left conf/ONE conf/two vendor/lib/code /tmp/who'),
  ).toBe('HELLO\ntool of /srv/app/bin/tool\nroot=/srv/app/www\n$APP\nvendored\nuid=2001 gid=2002\n/\n');
  const paths = 'www www/* fresh many/* vendor/* vendor/lib/code';
  expect((await run(sandbox, `cd /srv/app; stat -c '%n %a %u:%g %h' ${paths}`)).split('\n')).toEqual([
    // The destination does not become as its source.
    ...['www 700 0:0 2', 'www/index.html 640 2001:2002 2', 'www/link.html 777 0:0 1'],
    ...['www/same.html 640 2001:2002 2', 'fresh 755 0:0 2'],
    // A link that is named is followed.
    ...['many/index.html 640 0:2003 1', 'many/link.html 640 0:2003 1', 'many/same.html 640 0:2003 1'],
    ...['vendor/lib 750 3001:3002 2', 'vendor/notes.gz 644 0:0 1', 'vendor/lib/code 640 3001:3002 1', ''],
  ]);
  // What a stage alone has is not in the template, and the server of its end runs.
  expect(await run(sandbox, 'ls -A /srv/app; wget -q -O - http://127.0.0.1:8000/fresh/index.html')).toBe(
    'bin\nconf\nfresh\nleft\nmade\nmany\none.html\nvendor\nwww\nHELLO\n',
  );
});

it('ends on an empty image, with a program that needs no shell', async () => {
  const text = `FROM ${image} AS build
RUN mkdir /out && cat /bin/busybox > /out/busybox && chmod 0555 /out/busybox && echo page > /out/page
FROM scratch
WORKDIR /www
COPY --from=build /out/page .
COPY --from=build /out/busybox /
USER 65532
HEALTHCHECK CMD ["/busybox", "wget", "-q", "-O", "/dev/null", "http://127.0.0.1:8000/page"]
ENTRYPOINT ["/busybox", "httpd", "-f", "-p", "8000"]
`;
  await buildText('from-scratch', text).result();
  await using sandbox = await create('from-scratch');
  expect(await sandbox.files.read('/www/page')).toBe('page\n');
  expect(await sandbox.files.exists('/bin')).toBe(false);
});

it('begins as the image says, with its PATH, and starts its command unless that ends', async () => {
  const text = `FROM ${registry.host}/test/server
RUN id -u > /tmp/who; id -g >> /tmp/who; pwd >> /tmp/who; echo "$PATH" >> /tmp/who
`;
  const log: string[] = [];
  for await (const { message } of buildText('of-image', text)) log.push(message);
  expect(log).toContain('waiting for /bin/sh -c "test -s /tmp/started"');
  await using sandbox = await create('of-image');
  expect(await run(sandbox, 'cat /tmp/who /tmp/started')).toBe(
    '2001\n2002\n/work\n/opt/bin:/bin\na b /opt/bin:/bin\n2001\n/work\n',
  );
  const lines: string[] = [];
  for await (const { message } of buildText('shell', `FROM ${registry.host}/test/shell\nRUN true\n`))
    lines.push(message);
  expect(lines).toContain('the command of the image has ended: sandboxes begin without it');
});

it('is ready when something listens on the ports of the image and of EXPOSE, without another check', async () => {
  const fetchLate = 'wget -q -O - http://127.0.0.1:8000/late';
  const readLines = async (name: string, text: string): Promise<string[]> => {
    const began = performance.now();
    const lines: string[] = [];
    for await (const { message } of buildText(name, text)) lines.push(message);
    // Well before the time that a start command without a check has.
    expect(performance.now() - began).toBeLessThan(18_000);
    return lines;
  };
  expect(await readLines('exposed', `FROM ${registry.host}/test/exposed\n`)).toContain(
    'waiting for port 8000',
  );
  await using sandbox = await create('exposed');
  expect(await run(sandbox, fetchLate)).toBe('late\n');
  const text = `FROM ${image}
EXPOSE 8000 8001/tcp 53/udp
CMD httpd -p 8001; sleep 1; echo late > /tmp/late; exec httpd -f -p 8000 -h /tmp
`;
  expect(await readLines('exposing', text)).toContain('waiting for port 8000, 8001');
  await using own = await create('exposing');
  expect(await run(own, fetchLate)).toBe('late\n');
});

it('refuses an image with ONBUILD before a step runs on it', async () => {
  const image = `${registry.host}/test/onbuild`;
  expect(await failureOf('onbuild', `FROM ${image}\nRUN touch /a\n`)).toMatchObject({
    step: 'base',
    message: expect.stringContaining(
      'the image has "ONBUILD RUN touch /ran", and 1 more: ONBUILD is not supported',
    ),
  });
});

it('names the line that fails in any stage, ends the others, and leaves none of their files', async () => {
  await buildCache.prune(stack.connection);
  const before = readdirSync(join(dataDir, 'templates'));
  const text = `FROM ${image} AS slow
RUN sleep 600
FROM ${image} AS failing
RUN true
RUN exit 7
FROM ${image}
COPY --from=slow /a /a
COPY --from=failing /a /a
`;
  expect(await failureOf('failing', text)).toMatchObject({
    step: '3',
    line: 5,
    message: expect.stringContaining('exit status 7'),
  });
  const missing = `FROM ${image} AS a\nRUN true\nFROM a\nCOPY --from=a /no /a\n`;
  expect(await failureOf('failing', missing)).toMatchObject({
    line: 4,
    message: expect.stringContaining('"/no" does not exist'),
  });
  const strange = `FROM ${image}\nCOPY --chown=70000:1 <<name /to/\ntext\nname\n`;
  expect(await failureOf('failing', strange)).toMatchObject({
    line: 2,
    message: expect.stringContaining('has the owner 70000:1, and the sandbox has no such id'),
  });
  // The cache has the image of the stage that was ready.
  await buildCache.prune(stack.connection);
  await expect.poll(() => readdirSync(join(dataDir, 'templates'))).toEqual(before);
});

it('takes a copy from a stage from the cache while the image of the stage is the same', async () => {
  const toText = (word: string): string =>
    `FROM ${image} AS made\nRUN echo ${word} > /a\nFROM ${image}\nCOPY --from=made /a /a\n`;
  const readLines = async (word: string, options?: DockerfileOptions): Promise<string[]> => {
    const lines: string[] = [];
    for await (const { message } of buildText('cached-stages', toText(word), options)) lines.push(message);
    return lines;
  };
  const listCached = async (word: string): Promise<string[]> =>
    (await readLines(word)).flatMap((line) => /^CACHED (step .*)$/.exec(line)?.[1] ?? []);
  expect(await listCached('one')).toEqual([]);
  expect(await listCached('one')).toEqual(['step 1: RUN echo one > /a', 'step 2: COPY /a /a']);
  expect(await listCached('two')).toEqual([]);
  await using sandbox = await create('cached-stages');
  expect(await sandbox.files.read('/a')).toBe('two\n');
  // The first step forces the others, also that of the stage after it.
  const forced = (await readLines('two', { skipCache: true })).flatMap(
    (line) => /forced$/.exec(line)?.input ?? [],
  );
  expect(forced.map((line) => line.replace(/^not CACHED \w+: /, ''))).toEqual([
    'the step is forced',
    'step 1 is forced',
  ]);
});

it('runs equal steps of two stages once, and shows a command without a shell as its words', async () => {
  const step = 'RUN ["/bin/sh", "-euc", "echo once; sleep 1"]';
  const text = `FROM ${image} AS a\n${step}\nFROM ${image} AS b\n${step}\nFROM ${image}
COPY --from=a /etc/profile /a\nCOPY --from=b /etc/profile /b\n`;
  const lines: string[] = [];
  for await (const { message } of buildText('equal-stages', text)) lines.push(message);
  expect(lines.filter((line) => line === 'once')).toHaveLength(1);
  expect(lines).toContain('waiting for another stage of this build, which runs the same steps now');
  expect(lines).toContainEqual(
    expect.stringMatching(/^step [12]: RUN \["\/bin\/sh", "-euc", "echo once; sleep 1"\]$/),
  );
});

it('follows links of a stage only within it, and takes nothing that the host mounts', async () => {
  const text = `FROM ${image} AS evil
RUN mkdir /d && ln -s /etc/passwd /d/inside && ln -s ../../../../../etc /up && ln -s /proc/1 /p && touch /d/f
FROM ${image}
COPY --from=evil /up/passwd /to/passwd
COPY --from=evil /d /to/
`;
  await buildText('links', text).result();
  await using sandbox = await create('links');
  // The passwd file of the stage, and not that of the host.
  expect(await run(sandbox, 'head -n 1 /to/passwd; ls /to; stat -c %N /to/inside')).toMatch(
    /^root:x:0:0:root:\/root:\/bin\/sh\nf\ninside\npasswd\n'?\/to\/inside'? -> '?\/etc\/passwd'?\n$/,
  );
  expect(await failureOf('refused', `${text}COPY --from=evil /p/environ /x\n`)).toMatchObject({
    message: expect.stringContaining('no file of the image'),
  });
});

it('copies from a stage that begins with a snapshot, by the name that the server has for it', async () => {
  await buildText('lower', `FROM ${image}\nRUN mkdir /srv && echo old > /srv/old\n`).result();
  const source = await create('lower');
  const made = 'echo kept > kept; ln kept hard; ln -s kept soft; chown 5:6 kept; chmod 4750 kept; rm old';
  await run(source, `cd /srv; ${made}; echo there > /tmp/there; sleep 1000 >/dev/null 2>&1 &`);
  await source.createSnapshot({ name: 'captured:v1' });
  await source.kill();
  const text = `FROM test/captured AS made
RUN cat srv/soft tmp/there > /srv/both && id -u >> /srv/both && ls /srv >> /srv/both
FROM ${image}
COPY --from=made /srv/ all/
COPY --from=test/captured /tmp/there /srv/soft direct/
`;
  const readLines = async (): Promise<string[]> => {
    const lines: string[] = [];
    for await (const { message } of buildText('on-captured', text)) lines.push(message);
    return lines;
  };
  expect(await readLines()).toContain('FROM test/captured, which is snapshot captured:v1 on this server');
  await using sandbox = await create('on-captured');
  expect(await run(sandbox, 'cd /all; cat both; ls; cat /direct/there /direct/soft')).toBe(
    'kept\nthere\n0\nboth\nhard\nkept\nsoft\nboth\nhard\nkept\nsoft\nthere\nkept\n',
  );
  expect(await run(sandbox, "cd /all; stat -c '%n %a %u:%g %h' kept soft /direct/soft")).toBe(
    'kept 4750 5:6 2\nsoft 777 0:0 1\n/direct/soft 4750 5:6 1\n',
  );
  expect((await readLines()).filter((line) => /^CACHED step/.test(line))).toHaveLength(4);
});
