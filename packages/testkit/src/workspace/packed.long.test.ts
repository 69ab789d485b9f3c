import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { startStack } from '../stack/stack.ts';
import { installAlone, type OutsideProject } from './outside-project.ts';

let stack: SharedStack;

beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

/** Type-checks a program against the installed package, strictly and with its declarations checked, then runs it. */
function use(project: OutsideProject, program: string): string {
  project.write({ 'use.ts': program });
  project.check(['use.ts']);
  const { apiUrl, apiKey, domain, sandboxUrl } = stack.address;
  return project.run(process.execPath, ['use.ts'], {
    SKERRY_API_URL: apiUrl,
    SKERRY_API_KEY: apiKey,
    SKERRY_DOMAIN: domain,
    SKERRY_SANDBOX_URL: sandboxUrl,
  });
}

describe('a packed tarball, installed alone outside the workspace', () => {
  it('of @skerry/platform-client creates and lists a sandbox', () => {
    using project = installAlone('platform-client');
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
    using project = installAlone('envd-client');
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
    using project = installAlone('sdk');
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
    using project = installAlone('cli');
    const dist = join(project.path, 'node_modules/skerry/dist');
    const program = join(dist, 'main.js');
    expect(readFileSync(join(dist, 'THIRD_PARTY_LICENSES.txt'), 'utf8')).toMatch(
      /^commander \S+: MIT\n\n\(The MIT License\)$/m,
    );
    await using own = await startStack({ program });
    const flags = ['--data', own.dataDir];
    const id = project.run(process.execPath, [program, 'sandbox', 'create', ...flags]).trim();
    expect(
      project.run(process.execPath, [
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
    expect(project.run(process.execPath, [program, 'down', ...flags])).toBe('stopped 1 sandbox\n');
  });
});
