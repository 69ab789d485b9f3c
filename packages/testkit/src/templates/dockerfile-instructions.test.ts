import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Sandbox } from '@skerry/sdk';
import { build, type DockerfileOptions, Template } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './debian-registry.ts';

let stack: Stack;
let registry: DebianRegistry;
let image: string;
const busybox = makeBusyboxFolder([
  ...[
    'sh',
    'cat',
    'echo',
    'id',
    'chown',
    'chmod',
    'mkdir',
    'sleep',
    'stat',
    'ls',
    'rm',
    'touch',
    'ps',
    'wc',
    'cp',
  ],
  ...['true', 'test', 'find', 'sort', 'env', 'printenv', 'head', 'sha256sum', 'du'],
]);
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-instructions-'));

beforeAll(async () => {
  registry = await startDebianRegistry();
  image = `${registry.host}/test/busybox`;
  const env = ['PATH=/bin', 'COLOUR=blue', 'IMAGE_USER=2001', 'IMAGE_FOLDER=/of/image', 'FILE=a.tar.gz'];
  await registry.push('test/busybox', { folder: busybox, env });
  await registry.push('test/plain', { folder: busybox, env: [] });
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
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

const buildText = async (
  name: string,
  text: string,
  { context, ...options }: DockerfileOptions & { context?: string; force?: boolean } = {},
): Promise<string[]> => {
  const { force = false } = options;
  const handle = build(Template.fromDockerfile(text, options), name, {
    ...stack.connection,
    ...{ cpuCount: 1, memoryMb: 256, context, force },
  });
  const lines: string[] = [];
  for await (const { message } of handle) lines.push(message);
  await handle.result();
  return lines;
};
const runIn = async (template: string, command: string): Promise<string> => {
  await using sandbox = await Sandbox.create({ ...stack.connection, template });
  return (await sandbox.commands.run(command, { user: 'root' })).stdout;
};

it('knows the variables of the image in every instruction, with all operators, and keeps a literal "$"', async () => {
  const text = `FROM ${image} AS base
RUN mkdir -p $IMAGE_FOLDER && echo found > $IMAGE_FOLDER/file
FROM ${image}
ENV A=\${COLOUR:-none} B=\${NONE:-$COLOUR} C=\${COLOUR:+is $COLOUR} D=\${FILE%%.*} E=\${FILE#*.} F=\${FILE/tar/zip}
ENV LITERAL='$COLOUR' ALSO=\\$COLOUR A=changed G=$A
ENV H=$A
WORKDIR $IMAGE_FOLDER/\${COLOUR}
COPY --chown=\${IMAGE_USER}:\${IMAGE_USER} --from=base $IMAGE_FOLDER/file ./\${COLOUR}.txt
COPY <<END <<'RAW' texts/
"$COLOUR" \\$COLOUR \\n \\
joined
END
$COLOUR \\n
RAW
VOLUME /volumes/$COLOUR
USER $IMAGE_USER
RUN echo "$A|$B|$C|$D|$E|$F|$LITERAL|$ALSO|$G|$H" > /tmp/values; id -u > /tmp/id; pwd > /tmp/pwd
`;
  await buildText('variables', text);
  expect(
    await runIn(
      'variables',
      'cat /tmp/values /tmp/id /tmp/pwd /of/image/blue/blue.txt; stat -c %u /of/image/blue/blue.txt; cat /of/image/blue/texts/*; ls /volumes',
    ),
  ).toBe(
    'changed|blue|is blue|a|tar.gz|a.zip.gz|$COLOUR|$COLOUR|blue|changed\n2001\n/of/image/blue\nfound\n2001\n' +
      '"blue" $COLOUR \\n joined\n$COLOUR \\n\nblue\n',
  );
});

it('knows in the first step what a command would see: the default PATH, the user and the home', async () => {
  const text = `FROM ${registry.host}/test/plain
ENV PATH=$PATH:/x
ENV ALL="$HOME $USER"
RUN echo "$PATH $ALL" > /seen
`;
  await buildText('first-path', text);
  const seen = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/x /root root\n';
  expect(await runIn('first-path', 'cat /seen')).toBe(seen);
  const template = Template()
    .fromImage(`${registry.host}/test/plain`)
    .env({ PATH: '$PATH:/y', WHERE: '$HOME/$USER' })
    .run('echo "$PATH $WHERE" > /tmp/seen');
  await build(template, 'first-env', stack.connection).result();
  expect(await runIn('first-env', 'cat /tmp/seen')).toContain('/bin:/y /home/user/user\n');
});

it('fills the platform arguments, and refuses a file that was read for another platform', async () => {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const text = `FROM --platform=$BUILDPLATFORM ${image}
ARG TARGETPLATFORM
ARG TARGETARCH TARGETVARIANT BUILDOS
RUN echo "$TARGETPLATFORM $TARGETARCH [$TARGETVARIANT] $BUILDOS" > /platform
`;
  await buildText('platform', text);
  expect(await runIn('platform', 'cat /platform')).toBe(`linux/${arch} ${arch} [] linux\n`);
  const other = arch === 'amd64' ? 'linux/arm64' : 'linux/amd64';
  await expect(buildText('other-platform', text, { platform: other })).rejects.toThrow(
    `body.platform must be linux/${arch}, for which this server builds, got ${other}`,
  );
});

it('ends a RUN with its command: what runs in the background neither delays the build nor is there later', async () => {
  const begun = performance.now();
  await buildText(
    'background',
    `FROM ${image}
RUN sleep 1000 & (while :; do echo x >> /noise; sleep 0.1; done) & while ! test -s /noise; do true; done; echo done
RUN ps > /processes; wc -c < /noise > /first; sleep 1; wc -c < /noise > /second
`,
  );
  expect(performance.now() - begun).toBeLessThan(60_000);
  const [processes = '', first, second] = (
    await runIn('background', 'cat /processes; echo ---; cat /first; echo ---; cat /second')
  ).split('---\n');
  expect(processes).not.toMatch(/sleep (?:1000|0\.1)/);
  expect(first).toBe(second);
});

it('mounts caches, folders in memory, and files of the context and of stages for one RUN alone', async () => {
  const context = makeProject({ 'package.json': '{}', 'src/main': 'code\n', 'src/deep/x': 'x' });
  const text = (count: string) => `FROM ${image} AS tools
RUN mkdir -p /out/bin && echo tool > /out/bin/tool
FROM ${image}
RUN mkdir -p /var/cache/x && echo image > /var/cache/x/own && chmod 0750 /var/cache/x && mkdir -p /place && echo before > /place/main
WORKDIR /place
RUN --mount=type=cache,target=/var/cache/x,mode=0700,uid=5 \\
    --mount=type=cache,id=named,target=/root/.cache/deep \\
    --mount=type=bind,target=package.json,source=package.json \\
    --mount=type=bind,source=src,target=. \\
    --mount=type=bind,from=tools,source=/out,target=/tools,rw \\
    --mount=target=/context \\
    --mount=type=tmpfs,target=/scratch \\
    (ls -A /var/cache/x | wc -l; stat -c '%a %u' /var/cache/x; cat main deep/x /tools/bin/tool /context/package.json; stat -c %a /scratch) > /seen; \\
    echo ${count} >> /var/cache/x/kept; echo ${count} >> /root/.cache/deep/kept; \\
    cat /var/cache/x/kept > /taken; touch made /tools/bin/new /scratch/y
RUN (ls -A / /place /root /var/cache/x; cat /place/main /var/cache/x/own; stat -c '%a' /var/cache/x) > /after
`;
  await buildText('mounts', text('one'), { context });
  expect(await runIn('mounts', 'cat /seen; cat /taken')).toBe('0\n700 5\ncode\nxtool\n{}1777\none\n');
  const after = await runIn('mounts', 'cat /after');
  expect(after).toMatch(/before\nimage\n750\n$/);
  for (const name of [
    'tools',
    'context',
    'scratch',
    '.cache',
    'made',
    'package.json',
    'kept',
    '.skerry-aside',
  ])
    expect(after.split('\n')).not.toContain(name);
  await buildText('mounts', text('two'), { context });
  expect(await runIn('mounts', 'cat /taken')).toBe('one\ntwo\n');
  // Another template has caches of its own.
  await buildText('mounts-other', text('three'), { context, force: true });
  expect(await runIn('mounts-other', 'cat /taken')).toBe('three\n');
});

it('changes modes as chmod does, and unpacks a sparse archive with its holes', async () => {
  const context = makeProject({ 'bin/tool': '#!/bin/sh\n', 'bin/deep/data': 'data', large: 'begin' });
  truncateSync(join(context, 'large'), 8 * 2 ** 20);
  writeFileSync(join(context, 'large'), 'end', { flag: 'r+' });
  for (const [name, format] of Object.entries({ 'gnu.tar': 'gnu', 'pax.tar': 'pax' }))
    execFileSync('tar', ['--sparse', `--format=${format}`, '-cf', name, 'large'], { cwd: context });
  const text = `FROM ${image}
COPY --chmod=u=rwX,go=rX bin /bins
COPY --chmod=+x,o-r bin/tool /one
ADD gnu.tar /gnu/
ADD pax.tar /pax/
`;
  await buildText('modes', text, { context });
  const hash = execFileSync('sha256sum', ['large'], { cwd: context, encoding: 'utf8' }).split(' ')[0];
  expect(readFileSync(join(context, 'gnu.tar')).length).toBeLessThan(100_000);
  const shown = await runIn(
    'modes',
    "stat -c '%a %n' /bins/tool /bins/deep /bins/deep/data /one; cat /gnu/large | sha256sum; cat /pax/large | sha256sum; du -k /gnu/large",
  );
  const lines = shown.split('\n');
  expect(lines.slice(0, 4)).toEqual(['644 /bins/tool', '755 /bins/deep', '644 /bins/deep/data', '751 /one']);
  expect(lines.slice(4, 6).map((line) => line.split(' ')[0])).toEqual([hash, hash]);
});

it('copies with the folders of the sources, without what is excluded, and adds files of a URL', async () => {
  const content = Buffer.from('of a URL\n');
  const server = createServer((request, response) =>
    request.url === '/v2/tool.sh?x=1' ? response.end(content) : response.writeHead(404).end(),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const context = makeProject({
    'src/app/lib/one.py': '1',
    'src/app/two.py': '2',
    'src/app/notes.txt': 'n',
    'src/other.py': 'o',
  });
  const digest = createHash('sha256').update(content).digest('hex');
  const text = `FROM ${image} AS base
ONBUILD COPY --parents --exclude=**/notes.txt src/./app /parents
ONBUILD RUN ls -R /parents > /seen
FROM base
ARG V=2
COPY --parents src/*/two.py src/other.py /all/
COPY --exclude=*.txt --exclude=lib src/app /flat/
ADD --checksum=sha256:${digest} ${origin}/v$V/tool.sh?x=1 /tools/
ADD --chmod=755 ${origin}/v$V/tool.sh?x=1 /tools/named
`;
  const options = { context, fetchUrls: true };
  await buildText('copied', text, options);
  expect(
    await runIn(
      'copied',
      'cd / && find parents all flat tools -type f | sort; stat -c "%a %u" tools/*; cat seen',
    ),
  ).toBe(`all/src/app/two.py
all/src/other.py
flat/two.py
parents/app/lib/one.py
parents/app/two.py
tools/named
tools/tool.sh
755 0
600 0
/parents:
app

/parents/app:
lib
two.py

/parents/app/lib:
one.py
`);
  const again = await buildText('copied', text, options);
  expect(again.filter((line) => /CACHED/.test(line)).length).toBeGreaterThanOrEqual(6);
  await expect(buildText('copied', text.replace('v$V/tool', 'v$V/none'), options)).rejects.toMatchObject({
    line: 8,
    message: expect.stringContaining('the server answered 404') as string,
  });
});
