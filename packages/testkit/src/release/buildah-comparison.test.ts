// Compares the files that skerry and buildah of the distribution build from one Dockerfile, one by one.
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build, buildCache, Template, templates } from '@skerry/sdk/template';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { makeArchive } from '../templates/archive.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';

const work = mkdtempSync(join(tmpdir(), 'skerry-buildah-'));
const dataDir = join(work, 'data');
const mountPoint = join(work, 'mounted');
const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'chown', 'chmod', 'mkdir', 'ln', 'id', 'pwd', 'rm']);

let stack: Stack;
let registry: DebianRegistry;
beforeAll(async () => {
  mkdirSync(mountPoint);
  chmodSync(busybox, 0o755);
  mkdirSync(join(busybox, 'tmp'));
  chmodSync(join(busybox, 'tmp'), 0o1777);
  registry = await startDebianRegistry();
  const config = { User: '1000:1001', WorkingDir: '/work', Cmd: ['sh'] };
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/opt/bin:/bin'], config });
  stack = await startStack({ dataDir, args: ['--registry', registry.host] });
});
afterAll(async () => {
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [work, busybox]) rmSync(folder, { recursive: true, force: true });
});

const toDockerfile = (image: string): string => `FROM ${image} AS first
RUN id -u > /tmp/who; id -g >> /tmp/who; pwd >> /tmp/who; echo "$PATH" >> /tmp/who
USER 0
WORKDIR /out
ADD archive.bin /out/unpacked
RUN mkdir -m 0750 tree && echo a > tree/a && chmod 4711 tree/a && chown -R 5:6 tree && chmod 4711 tree/a
RUN ln tree/a tree/hard && ln -s a tree/soft && ln -s /out/tree up && mkdir -m 1777 tree/sticky && echo b > b.txt

FROM first AS second
ENV NAME=value
RUN echo "$NAME $PATH" > env && pwd > where

FROM ${image}
USER root
COPY --from=first / /whole
COPY --from=first /tmp/who /who
COPY --from=first /out/tree /existing/
COPY --from=first /out/tree /new
COPY --from=first /out/up /through
COPY --from=first /out/tree/soft /followed
COPY --from=first /out/unpacked/ /unpacked
COPY --from=first --chown=7:8 /out/tree /owned/
COPY --from=first /out/*.txt /single
COPY --from=first /out/tree/* /several/
COPY --from=1 /out/env /out/where /second/
COPY --chown=9:10 src/ /src
RUN chmod 0711 /src/lib && chown 3:3 /src/lib
COPY src /src
COPY --chmod=0600 src/lib/*.txt relative/
ADD archive.bin src/lib/code.txt /added/
WORKDIR /made/by/workdir
USER 11
WORKDIR /made/by/user
`;

type Explained = readonly (readonly [path: RegExp, reason: string])[];

/** What differs on purpose, by path. */
const explained: Explained = [
  [/^(?:\/whole)?\/etc(?:\/|$)/, 'a sandbox has an account "user", and a name and resolvers of its own'],
  [/^(?:\/whole)?\/home(?:\/|$)/, 'the home of that account'],
  [/^(?:\/whole)?\/bin\/bash$/, 'the protocol runs commands with bash'],
  [
    /^(?:\/whole)?\/(?:dev|proc|sys|run|tmp|root|var|var\/tmp|bin)$/,
    'each sandbox needs these folders, with these modes',
  ],
  [/^\/(?:\.envd|run\/.*|dev\/.*|proc\/.*|sys\/.*)$/, 'folders on which a sandbox mounts something'],
  [
    /^\/work$/,
    'the folder that the base image names is made with it, for its user; buildah makes it for the user of the first step there',
  ],
];

/** What differs in the project alone. */
const explainedOfProject: Explained = [
  [
    /^\/var\/cache(?:\/app)?$/,
    'the folder of VOLUME is part of a template, and buildah leaves it to the container',
  ],
];

/** A server of a project: a part of the context, what its `.dockerignore` leaves, becomes the image. */
const toProjectDockerfile = (image: string): string => `# syntax=docker/dockerfile:1
ARG RELEASE=1.2
FROM ${image}
ARG RELEASE
LABEL org.opencontainers.image.version=$RELEASE
ENV NODE_ENV=production \\
    HOME=/srv/app
USER root
WORKDIR /srv/app
COPY package*.json ./
RUN mkdir -p node_modules/left && echo "installed for $RELEASE" > node_modules/left/index.js
COPY --chown=1000:1000 . .
COPY --chmod=0755 scripts/*.sh /usr/local/bin/
RUN chown -R 1000:1000 node_modules \\
 && mkdir -p /var && mkdir -m 0770 /var/data && chown 0:1000 /var/data
VOLUME /var/cache/app
EXPOSE 3000/tcp 9229
USER 1000:1000
HEALTHCHECK NONE
ENTRYPOINT ["cat"]
CMD ["package.json"]
`;

const projectIgnore = `# What is made or secret stays out.
node_modules
**/*.log
.git
.env*
!.env.example
/dist
docs/*
!docs/README.md
**/test?
*.md
!README.md
src/**/*.tmp
  spaced
Dockerfile
.dockerignore
`;

type Files = Record<string, string | Buffer>;

it('makes the files of a Dockerfile with several stages that buildah makes of it', async () => {
  const image = `${registry.host}/test/busybox`;
  const pax = { 'SCHILY.xattr.user.note': 'kept' };
  const expected = await compare('stages', {
    Dockerfile: toDockerfile(image),
    '.dockerignore': '**/*.log\n!src/kept.log\n',
    'archive.bin': await makeArchive([
      { name: 'lib/', type: 'directory', mode: 0o2750, uid: 3001, gid: 3002 },
      { name: 'lib/noted', mode: 0o640, uid: 3001, gid: 3003, content: 'noted', pax },
      { name: 'lib/link', type: 'symlink', linkname: 'noted', uid: 12, gid: 13 },
    ]),
    'src/lib/code.txt': 'code\n',
    'src/lib/more.txt': 'more\n',
    'src/no.log': 'no\n',
    'src/kept.log': 'yes\n',
  });
  expect(expected.get('/unpacked/lib/noted')).toContain('user.note="kept"');
});

it('makes the files of a project with a .dockerignore that buildah makes of it', async () => {
  const kept = {
    'package.json': '{"name":"app"}\n',
    'package-lock.json': '{}\n',
    'README.md': 'read\n',
    'docs/README.md': 'docs\n',
    '.env.example': 'A=\n',
    'src/index.js': 'serve()\n',
    'src/deep/dist/kept.js': 'kept\n',
    'src/testing/kept.js': 'kept\n',
    'scripts/start.sh': '#!/bin/sh\n',
    'scripts/stop.sh': '#!/bin/sh\n',
  };
  const left = {
    '.env': 'SECRET=1\n',
    '.env.local': 'SECRET=2\n',
    '.git/HEAD': 'ref\n',
    'CHANGES.md': 'changes\n',
    'dist/bundle.js': 'old\n',
    'docs/guide.txt': 'guide\n',
    'node_modules/left/old.js': 'old\n',
    'npm-debug.log': 'log\n',
    spaced: 'spaced\n',
    'src/deep/debug.log': 'log\n',
    'src/deep/tests/a.js': 'test\n',
    'src/deep/work.tmp': 'tmp\n',
  };
  const files = { ...kept, ...left, '.dockerignore': projectIgnore };
  const image = `${registry.host}/test/busybox`;
  const all = { ...files, Dockerfile: toProjectDockerfile(image) };
  const expected = await compare('project', all, explainedOfProject);
  for (const path of Object.keys(kept)) expect(expected.has(`/srv/app/${path}`), path).toBe(true);
  for (const path of Object.keys(left)) expect(expected.has(`/srv/app/${path}`), path).toBe(false);
});

/** Builds a project with both, expects of each file the same, and resolves with those of buildah. */
async function compare(name: string, files: Files, more: Explained = []): Promise<Map<string, string>> {
  const context = join(work, name);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(context, path)), { recursive: true });
    writeFileSync(join(context, path), content);
  }
  const template = Template.fromDockerfile(join(context, 'Dockerfile'));
  await build(template, name, { ...stack.connection, context }).result();
  // The cache keeps images of its own, of the base and of each stage.
  await buildCache.prune(stack.connection);
  const listImages = () => readdirSync(join(dataDir, 'templates')).filter((file) => file.endsWith('.ext4'));
  await expect.poll(listImages, { timeout: 60_000 }).toHaveLength(1);
  const [own = ''] = listImages();
  const mount = ['-o', 'ro,loop', join(dataDir, 'templates', own), mountPoint];
  // Others may take the loop device that it has found.
  await expect.poll(() => spawnSync('mount', mount).status, { timeout: 60_000 }).toBe(0);
  let skerry: Map<string, string>;
  try {
    skerry = readTree(join(mountPoint, 'rootfs'));
  } finally {
    execFileSync('umount', [mountPoint]);
  }

  const store = ['--root', join(work, 'store'), '--runroot', join(work, 'run'), '--storage-driver', 'vfs'];
  const credentials = join(work, 'auth.json');
  writeFileSync(credentials, '{}');
  const buildah = (...args: string[]): string =>
    execFileSync('buildah', [...store, ...args], {
      // buildah requires a file of credentials that exists.
      env: { ...process.env, REGISTRY_AUTH_FILE: credentials },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  buildah('build', '--isolation', 'chroot', '--tls-verify=false', '--format', 'oci', '-t', name, context);
  const container = buildah('from', '--pull-never', name);
  const expected = readTree(buildah('mount', container));
  buildah('umount', container);

  const paths = [...new Set([...skerry.keys(), ...expected.keys()])].toSorted();
  const different = paths
    .filter((path) => skerry.get(path) !== expected.get(path))
    .filter((path) => ![...explained, ...more].some(([pattern]) => pattern.test(path)))
    .map((path) => ({ path, skerry: skerry.get(path), buildah: expected.get(path) }));
  expect(different).toEqual([]);
  expect(skerry.get('/work')).toBe('folder 755 1000:1001');
  await templates.delete(name, stack.connection);
  return expected;
}

/** Type, mode, owner, target or content, and attributes of every file, by its path. */
function readTree(root: string): Map<string, string> {
  const tree = new Map<string, string>();
  const names = new Map<string, string>();
  const attributes = readAttributes(root);
  const visit = (path: string): void => {
    const full = join(root, path);
    const stats = lstatSync(full);
    const first = stats.isDirectory() ? undefined : names.get(`${stats.ino}`);
    names.set(`${stats.ino}`, path);
    const content = stats.isSymbolicLink()
      ? readlinkSync(full)
      : stats.isFile()
        ? createHash('sha256').update(readFileSync(full)).digest('hex').slice(0, 16)
        : '';
    const kind = stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'file';
    const owner = `${stats.uid}:${stats.gid}`;
    const same = first === undefined ? '' : `same as ${first}`;
    const parts = [kind, (stats.mode & 0o7777).toString(8), owner, content, same, attributes.get(full) ?? ''];
    tree.set(path, parts.filter(Boolean).join(' '));
    if (stats.isDirectory()) for (const child of readdirSync(full).toSorted()) visit(join(path, child));
  };
  visit('/');
  return tree;
}

function readAttributes(root: string): Map<string, string> {
  const dump = execFileSync(
    'getfattr',
    ['-R', '-P', '-h', '-d', '-m', '^user\\.', '--absolute-names', root],
    {
      encoding: 'utf8',
    },
  );
  return new Map(
    dump
      .split('\n\n')
      .map((part) => part.trim().split('\n'))
      .map(([head = '', ...values]) => [head.replace('# file: ', ''), values.join(' ')]),
  );
}
