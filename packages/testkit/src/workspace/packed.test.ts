import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Stack, startStack } from '../stack/stack.ts';
import { workspaceRoot } from './workspace-copy.ts';

const folder = mkdtempSync(join(tmpdir(), 'skerry-packed-'));
let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
});
afterAll(async () => {
  await stack.down();
  rmSync(folder, { recursive: true, force: true });
});

function run(cwd: string, command: string, argv: string[], env: Record<string, string> = {}): string {
  const clean = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_OPTIONS$|^VITEST/i.test(name)),
  );
  const result = spawnSync(command, argv, { cwd, encoding: 'utf8', env: { ...clean, ...env } });
  if (result.status !== 0)
    throw new Error(
      `${command} ${argv.join(' ')} ended with ${result.status}\n${result.stdout}${result.stderr}`,
    );
  return result.stdout;
}

/** Packs one package and installs the tarball, and nothing else, into a new project outside the workspace. */
function installAlone(name: string): string {
  const project = join(folder, name);
  mkdirSync(project);
  run(join(workspaceRoot, 'packages', name), 'pnpm', ['pack', '--out', join(project, 'package.tgz')]);
  writeFileSync(join(project, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n');
  run(project, 'npm', ['install', '--no-audit', '--no-fund', './package.tgz']);
  return project;
}

/** Type-checks a program against the installed package, strictly and with its declarations checked, then runs it. */
function use(project: string, program: string): string {
  writeFileSync(join(project, 'use.ts'), program);
  const options = {
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2024', 'esnext.disposable', 'dom', 'dom.iterable', 'dom.asynciterable'],
    strict: true,
    noEmit: true,
    types: [],
  };
  writeFileSync(
    join(project, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, files: ['use.ts'] }),
  );
  run(project, join(workspaceRoot, 'node_modules/.bin/tsc'), ['-p', 'tsconfig.json']);
  const { apiUrl, apiKey, domain, sandboxUrl } = stack.address;
  return run(project, process.execPath, ['use.ts'], {
    SKERRY_API_URL: apiUrl,
    SKERRY_API_KEY: apiKey,
    SKERRY_DOMAIN: domain,
    SKERRY_SANDBOX_URL: sandboxUrl,
  });
}

describe('a packed tarball, installed alone outside the workspace', { timeout: 120_000 }, () => {
  it('of @skerry/platform-client creates and lists a sandbox', () => {
    const project = installAlone('platform-client');
    const { apiUrl, apiKey } = stack.address;
    const output = use(
      project,
      `import { createPlatformClient } from '@skerry/platform-client';
       const client = createPlatformClient({ baseUrl: '${apiUrl}', apiKey: '${apiKey}' });
       const created = await client.POST('/v2/sandboxes', { body: { templateID: 'base' } });
       const id: string = created.data!.sandboxID;
       const { data } = await client.GET('/v2/sandboxes');
       console.log(data!.some((sandbox) => sandbox.sandboxID === id && sandbox.state === 'running'));
       await client.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID: id } } });`,
    );
    expect(output).toBe('true\n');
  });

  it('of @skerry/envd-client starts a process and reads a file', async () => {
    const sandbox = await stack.createSandbox();
    const project = installAlone('envd-client');
    const output = use(
      project,
      `import { createEnvdClient } from '@skerry/envd-client';
       const client = createEnvdClient({
         baseUrl: '${stack.address.sandboxUrl}', accessToken: '${sandbox.accessToken}',
         headers: { 'E2b-Sandbox-Id': '${sandbox.sandboxId}', 'E2b-Sandbox-Port': '49983' },
       });
       for await (const { event } of client.process.start({ process: { cmd: '/bin/sh', args: ['-c', 'echo written > made.txt'] } })) {
         if (event?.event.case === 'end') console.log(event.event.value.status);
       }
       const { data } = await client.files.GET('/files', { params: { query: { path: 'made.txt' } }, parseAs: 'text' });
       console.log(data);`,
    );
    await sandbox.kill();
    expect(output).toBe('exit status 0\nwritten\n\n');
  });

  it('of @skerry/sdk runs a command in a sandbox', () => {
    const project = installAlone('sdk');
    const output = use(
      project,
      `import { Sandbox } from '@skerry/sdk';
       await using sandbox = await Sandbox.create({ timeoutMs: 60_000 });
       const { stdout } = await sandbox.commands.run('echo packed');
       console.log(stdout.trim());`,
    );
    expect(output).toBe('packed\n');
  });

  it('of skerry serves, runs a command in a sandbox and takes everything down', async () => {
    const project = installAlone('cli');
    const program = join(project, 'node_modules/skerry/dist/main.js');
    await using own = await startStack({ program });
    const flags = ['--data', own.dataDir];
    const id = run(project, process.execPath, [program, 'sandbox', 'create', ...flags]).trim();
    expect(
      run(project, process.execPath, [
        program,
        'sandbox',
        'exec',
        ...flags,
        id,
        '--',
        'echo',
        'from',
        'the',
        'tarball',
      ]),
    ).toBe('from the tarball\n');
    expect(run(project, process.execPath, [program, 'down', ...flags])).toBe('stopped 1 sandbox\n');
  });
});
