// The templates that come with the command, built as their users do, from the real mirrors of Debian and npm.
// SKERRY_TEST_ISOLATION=gvisor builds them at that level, where SKERRY_TEST_PATIENCE=3 leaves them the time.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type OutsideLab, startOutsideLab } from './outside-lab.ts';
import { createPackageProxy, npmHost } from './package-proxy.ts';

const isolation = process.env.SKERRY_TEST_ISOLATION ?? 'container';
/** No setuid program works at level gvisor. */
const hasSudo = isolation !== 'gvisor';
const args = ['--base', 'full', '--isolation', isolation];
const proxy = createPackageProxy();
let proxyUrl: string;
let lab: OutsideLab;
let stack: Stack;
const dataDir = mkdtempSync(join(tmpdir(), 'skerry-ready-made-'));
const work = mkdtempSync(join(tmpdir(), 'skerry-debian-'));
beforeAll(async () => {
  // The base image is made where packages are reached directly.
  await (await startStack({ args })).down();
  lab = await startOutsideLab();
  // A network may have its mirrors at private addresses, which sandboxes do not reach.
  proxyUrl = `http://${await lab.listen(proxy, 3128)}`;
  // No registry of Debian's images is needed.
  const debian = ['--image-map', 'docker.io/library/debian:13-slim=template:debian'];
  stack = await startStack({ dataDir, args: [...args, ...debian], through: lab.through });
});
beforeAll(async () => {
  const archive = join(work, 'debian.tar');
  makeDebianArchive(archive);
  await skerry('image', 'load', '--data', dataDir, '--name', 'debian', archive);
});
afterAll(async () => {
  await stack?.down();
  proxy.closeAllConnections();
  proxy.close();
  await lab?.[Symbol.asyncDispose]();
  for (const folder of [dataDir, work]) rmSync(folder, { recursive: true, force: true });
});

const skerry = (...argv: string[]): Promise<string> =>
  runProgram(skerryProgram, argv, { through: lab.through });
const withNpm = ['--build-arg', `NPM_CONFIG_REGISTRY=http://${npmHost}/`];

/** What `docker save` writes of an image with the packages that every system of Debian has, as `debian:12-slim` has them. */
function makeDebianArchive(path: string): void {
  const folder = join(work, 'image');
  mkdirSync(folder);
  const mirror = 'deb http://deb.debian.org/debian bookworm main';
  execFileSync('mmdebstrap', ['--variant=minbase', 'bookworm', join(folder, 'layer.tar'), mirror], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const digest = createHash('sha256')
    .update(readFileSync(join(folder, 'layer.tar')))
    .digest('hex');
  const config = { config: { Cmd: ['bash'] }, rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] } };
  const manifest = [{ Config: 'config.json', RepoTags: ['debian:slim'], Layers: ['layer.tar'] }];
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  execFileSync('tar', ['-cf', path, '-C', folder, 'manifest.json', 'config.json', 'layer.tar']);
}

describe('the ready-made templates', () => {
  it.each([
    {
      name: 'base',
      args: [],
      command: `python --version; git --version; curl --version; rg --version; ${hasSudo ? 'sudo id -un' : 'echo root'}; npm --version; env | grep -i proxy`,
      printed: /^Python 3.*git ver.*curl .*ripgrep .*root\n11\.\S+$/s,
    },
    {
      name: 'base-minimal',
      args: [],
      command: `python --version; git --version; curl --version; ip -V; ps --version; ${hasSudo ? 'sudo id -un' : 'echo root'}
        command -v npm gcc rg || echo small; env | grep -i proxy`,
      printed: /^Python 3.*git ver.*curl .*iproute2.*procps.*root\nsmall$/s,
    },
    {
      name: 'node',
      args: withNpm,
      command: `npm --version; pnpm --version; node --version; npm config get registry; cd "$(mktemp -d)"
        echo '{"name":"own","version":"1.0.0","bin":"run.js"}' > package.json
        printf '#!/usr/bin/env node\\nconsole.log([3, 1].toSorted())' > run.js
        npm install --global --silent "$PWD/$(npm pack --silent)" && own`,
      printed: /^11\..*\n10\..*\nv24\..*\nhttps:\/\/registry\.npmjs\.org\/\n\[ 1, 3 \]$/,
    },
    {
      name: 'python',
      args: [],
      command: `python -c 'import sys; print(sys.prefix)'; pip --version; gcc --version
        cd "$(mktemp -d)"; echo 'from setuptools import setup; setup(name="own", py_modules=["own"])' > setup.py
        echo 'print("own runs")' > own.py; pip install -q --no-build-isolation . && cd / && python -m own
        cd "$(mktemp -d)"
        python -m venv other && other/bin/pip --version`,
      printed: /^\/opt\/venv\npip .*\/opt\/venv\/.*gcc .*own runs\npip .*\/other\//s,
    },
    {
      name: 'coding-agent',
      args: withNpm,
      command: `cd "$(mktemp -d)"; git init -q .; echo needle > a.txt; rg -l needle; fd a.txt; jq -n '1 + 1'; node -p '2 + 2'
        gh --version; tmux -V; gcc --version; python -m venv own && own/bin/pip --version`,
      printed: /^a\.txt\na\.txt\n2\n4\ngh .*tmux .*gcc .*pip /s,
    },
  ])('$name is built by the command and has what it is for', async ({ name, args, command, printed }) => {
    const data = ['--data', dataDir];
    const given = ['--build-arg', `http_proxy=${proxyUrl}`, ...args];
    const built = `ready-${name}`;
    const build = ['template', 'build', ...data, '--ready-made', name, ...given, built];
    expect(await skerry(...build)).toBe(`${built}\n`);
    const run = ['sandbox', 'run', ...data, '--template', built, '--', 'bash', '-lc', `${command}; true`];
    expect((await skerry(...run)).trim()).toMatch(printed);
  });
});
