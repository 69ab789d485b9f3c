import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { copyWorkspace, workspaceRoot } from './workspace-copy.ts';

const bin = join(workspaceRoot, 'node_modules/.bin');

function run(cwd: string, script: string): { status: number | null; output: string } {
  const result = spawnSync('sh', ['-c', script], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${bin}:${process.env.PATH}` },
  });
  return { status: result.status, output: result.stdout + result.stderr };
}

/** What `pnpm gen` runs in a package. */
function generate(root: string, name: string): void {
  const folder = join(root, 'packages', name);
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    scripts: { gen: string };
  };
  const { status, output } = run(folder, scripts.gen);
  expect(output).not.toMatch(/error/i);
  expect(status).toBe(0);
}

it('changes the client and breaks the platform types when the document gains an operation', {
  timeout: 120_000,
}, () => {
  using copy = copyWorkspace();
  const document = join(copy.path, 'specs/openapi.yaml');
  const addition = `paths:
  /tides:
    get:
      operationId: listTides
      responses:
        '200':
          description: The tides.
          content:
            application/json:
              schema: { type: array, items: { type: string } }
`;
  writeFileSync(document, readFileSync(document, 'utf8').replace(/^paths:\n/m, addition));
  generate(copy.path, 'platform-client');
  expect(readFileSync(join(copy.path, 'packages/platform-client/src/gen/schema.ts'), 'utf8')).toContain(
    'listTides',
  );
  const { status, output } = run(join(copy.path, 'packages/platform'), 'tsc -p tsconfig.json');
  expect(output).toContain('GET /tides');
  expect(status).not.toBe(0);
});

it('changes the client and breaks the agent types when a service gains a call', () => {
  using copy = copyWorkspace();
  const proto = join(copy.path, 'specs/process/process.proto');
  const addition = 'service Process {\n  rpc Renice(ListRequest) returns (ListResponse);\n';
  writeFileSync(proto, readFileSync(proto, 'utf8').replace(/^service Process \{\n/m, addition));
  generate(copy.path, 'envd-client');
  expect(
    readFileSync(join(copy.path, 'packages/envd-client/src/gen/process/process_pb.ts'), 'utf8'),
  ).toContain('renice');
  const { status, output } = run(join(copy.path, 'packages/envd'), 'tsc -p tsconfig.json');
  expect(output).toContain('renice');
  expect(status).not.toBe(0);
});
