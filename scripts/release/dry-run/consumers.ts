import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import puppeteer from 'puppeteer-core';
import { findProgram } from '../find-program.ts';
import { installNode, readLowestNode } from '../lowest-node.ts';
import { run } from '../run.ts';
import type { ServiceVariables } from '../start-service.ts';
import { commonJs, esModule, typeScript, webPage } from './programs.ts';
import { readmePrograms } from './readme-programs.ts';

export interface Consumers {
  /** Projects are made in it. */
  folder: string;
  /** Variables of the registry that serves the packages. */
  registry: Record<string, string>;
  service: ServiceVariables;
  /** Exact versions of the tools that are installed beside. */
  versions: { typescript: string; typesNode: string; esbuild: string };
}

const sdk = { '@skerry/sdk': 'latest' };
const clients = { ...sdk, '@skerry/platform-client': 'latest', '@skerry/envd-client': 'latest' };

type Result = string | { skipped: string };

/** How long a page may take for its program. */
const PAGE_MS = 120_000;

/** What users do with the published packages. Each returns what its program printed, or why it was skipped. */
export const consumers: Record<string, (given: Consumers) => Result | Promise<Result>> = {
  'Node, import': (given) => {
    const project = createProject(given, 'import', sdk, { 'main.mjs': esModule });
    return run('node', ['main.mjs'], { cwd: project, env: given.service });
  },
  'Node, require': (given) => {
    const project = createProject(given, 'require', sdk, { 'main.cjs': commonJs });
    return run('node', ['main.cjs'], { cwd: project, env: given.service });
  },
  'the lowest Node that engines allows': (given) => {
    const bin = installNode(join(given.folder, 'lowest-node'), readLowestNode('sdk'));
    if (bin === undefined) return { skipped: 'this processor is no x64' };
    const { esbuild } = given.versions;
    const files = { 'main.mjs': esModule, 'main.cjs': commonJs, ...readmePrograms() };
    const project = createProject(given, 'lowest', { ...clients, esbuild }, files);
    // Only the types go: what this Node does not know stays.
    const strip = ['--outdir=readme', '--target=esnext', '--format=esm', '--out-extension:.js=.mjs'];
    run(join(project, 'node_modules/.bin/esbuild'), [...Object.keys(readmePrograms()), ...strip], {
      cwd: project,
    });
    const lowest = join(bin, 'node');
    for (const file of Object.keys(readmePrograms()))
      run(lowest, [join('readme', file.replace(/\.ts$/, '.mjs'))], { cwd: project, env: given.service });
    run(lowest, ['main.cjs'], { cwd: project, env: given.service });
    return run(lowest, ['main.mjs'], { cwd: project, env: given.service });
  },
  'TypeScript, strict with exactOptionalPropertyTypes': (given) => {
    const { typescript, typesNode } = given.versions;
    const project = createProject(
      given,
      'typescript',
      { ...clients, typescript, '@types/node': typesNode },
      { 'main.ts': typeScript, 'tsconfig.json': JSON.stringify({ compilerOptions }) },
    );
    run(join(project, 'node_modules/.bin/tsc'), ['-p', '.'], { cwd: project });
    return run('node', ['dist/main.js'], { cwd: project, env: given.service });
  },
  'esbuild, in headless Chromium': async (given) => {
    const chromium = findProgram(['chromium', 'chromium-browser', 'google-chrome']);
    const { esbuild } = given.versions;
    const project = createProject(
      given,
      'browser',
      { ...sdk, esbuild },
      {
        'main.js': webPage,
        'index.html': '<!doctype html><script src="bundle.js"></script>',
      },
    );
    run(
      join(project, 'node_modules/.bin/esbuild'),
      ['main.js', '--bundle', '--minify', '--outfile=bundle.js'],
      {
        cwd: project,
      },
    );
    if (chromium === undefined) return { skipped: 'bundled, but there is no chromium to load it' };
    const { SKERRY_API_URL: apiUrl, SKERRY_API_KEY: apiKey } = given.service;
    const address = pathToFileURL(join(project, 'index.html'));
    address.hash = new URLSearchParams({ apiUrl, apiKey }).toString();
    const browser = await puppeteer.launch({ executablePath: chromium, args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage();
      await page.goto(address.href);
      const answer = await page.waitForSelector('output', { timeout: PAGE_MS });
      return `${await answer?.evaluate(({ textContent }) => textContent)}\n`;
    } finally {
      await browser.close();
    }
  },
  Bun: (given) => {
    const bun = `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`;
    const project = createProject(given, 'bun', { ...sdk, [bun]: '1.4.5' }, { 'main.mjs': esModule });
    return run(join(project, 'node_modules', bun, 'bin/bun'), ['main.mjs'], {
      cwd: project,
      env: given.service,
    });
  },
  Deno: (given) => {
    const deno = `@deno/linux-${process.arch}-glibc`;
    const project = createProject(given, 'deno', { ...sdk, [deno]: '2.9.6' }, { 'main.mjs': esModule });
    const argv = ['run', '--allow-net', '--allow-env', '--node-modules-dir=manual', 'main.mjs'];
    return run(join(project, 'node_modules', deno, 'deno'), argv, { cwd: project, env: given.service });
  },
};

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  module: 'nodenext',
  target: 'es2022',
  lib: ['es2022', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
  types: ['node'],
  outDir: 'dist',
};

/** Makes a project that depends on packages, installs them, and writes files into it. */
function createProject(
  { folder, registry }: Consumers,
  name: string,
  dependencies: Record<string, string>,
  files: Record<string, string>,
): string {
  const project = join(folder, name);
  mkdirSync(project);
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies }),
  );
  for (const [file, content] of Object.entries(files)) writeFileSync(join(project, file), content);
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], {
    cwd: project,
    env: registry,
  });
  return project;
}
