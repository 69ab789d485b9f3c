// Packages of npm that are built on the e2b client, driven by scripted calls against the real service.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { replaceSection } from '../hosts/marked-section.ts';
import { type Stack, startStack } from '../stack/stack.ts';
import { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from '../templates/debian-registry.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';
import { type CallResult, toResultTables } from './e2b-programs/result-table.ts';

/** Exact, as the table names them. They are installed for this run alone: together they are larger than the workspace. */
const dependencies = {
  '@computesdk/e2b': '1.7.52',
  '@e2b/cli': '2.19.0',
  '@mastra/core': '1.71.0',
  '@mastra/e2b': '0.8.0',
  '@openai/agents': '0.18.0',
  '@openai/agents-core': '0.18.0',
  '@openai/agents-extensions': '0.18.0',
  e2b: '2.51.0',
  zod: '4.6.7',
};

/** The program that drives each package. */
const programs: readonly (readonly [name: keyof typeof dependencies, program: string])[] = [
  ['@e2b/cli', 'cli.mjs'],
  ['@openai/agents-extensions', 'openai-agents.mjs'],
  ['@mastra/e2b', 'mastra.mjs'],
  ['@computesdk/e2b', 'computesdk.mjs'],
];

const page = join(workspaceRoot, 'docs/e2b-clients.md');
const project = mkdtempSync(join(tmpdir(), 'skerry-programs-'));

let running: ChildProcess | undefined;

/** Runs a program of the project to its end. Its own output is part of the error when it does not end with 0. */
async function run(command: string, argv: readonly string[], env: Record<string, string>): Promise<void> {
  // Settings of a surrounding pnpm, of the test runner and of a client of this user are none of the project's.
  const clean = Object.entries(process.env).filter(
    ([name]) => !/^npm_|^NODE_OPTIONS$|^VITEST|^E2B_/i.test(name),
  );
  const child = spawn(command, argv, {
    cwd: project,
    env: { ...Object.fromEntries(clean), HOME: project, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running = child;
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ${argv.join(' ')} ended with ${code}\n${said}`);
}

const busybox = makeBusyboxFolder(['sh', 'cat', 'echo', 'sleep', 'mkdir', 'chown']);
let stack: Stack;
let registry: DebianRegistry;
beforeAll(async () => {
  writeFileSync(
    join(project, 'package.json'),
    JSON.stringify({ private: true, type: 'module', dependencies }),
  );
  for (const name of ['calls.mjs', ...programs.map(([, program]) => program)])
    copyFileSync(join(import.meta.dirname, 'e2b-programs', name), join(project, name));
  // The user's own settings name the registry.
  const env = process.env.HOME === undefined ? {} : { HOME: process.env.HOME };
  await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], env);
  registry = await startDebianRegistry();
  await registry.push('test/busybox', { folder: busybox, env: ['PATH=/bin'] });
  stack = await startStack({ args: ['--registry', registry.host] });
});
afterAll(async () => {
  running?.kill();
  await stack.down();
  await registry[Symbol.asyncDispose]();
  for (const folder of [project, busybox]) rmSync(folder, { recursive: true, force: true });
});

it('runs calls of packages that are built on the e2b client as docs/e2b-clients.md lists them', async () => {
  const { apiKey, apiUrl, sandboxUrl } = stack.address;
  const made: { name: string; results: CallResult[] }[] = [];
  for (const [name, program] of programs) {
    const file = join(project, `${program}.results`);
    await run(process.execPath, [program, file], {
      E2B_API_KEY: apiKey,
      E2B_API_URL: apiUrl,
      E2B_SANDBOX_URL: sandboxUrl,
      IMAGE: `${registry.host}/test/busybox`,
    });
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    made.push({
      name: `${name} ${dependencies[name]}`,
      results: lines.map((line) => JSON.parse(line) as CallResult),
    });
  }
  const content = toResultTables(made);
  // With -u the page is written.
  await expect(replaceSection(readFileSync(page, 'utf8'), { name: 'programs', content })).toMatchFileSnapshot(
    page,
  );
});
