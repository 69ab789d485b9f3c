// What a user of the published packages does to get clients of a server with other operations.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { installAlone } from '../workspace/outside-project.ts';
import { workspaceRoot } from '../workspace/workspace-copy.ts';

const specs = join(workspaceRoot, 'specs');
/** The cache of the user, into which the generators are installed once for all tests. */
const cache = mkdtempSync(join(tmpdir(), 'skerry-cache-'));
afterAll(() => rmSync(cache, { recursive: true, force: true }));
const inCache = { XDG_CACHE_HOME: cache };

const withoutHead = (text: string): string => text.replace(/^\/\/.*\n/, '');

/** The start of a program with a server that answers each request with this body, and its path in a header. */
const withServer = (answer: object): string => `import { once } from 'node:events';
import { createServer } from 'node:http';
const server = createServer((request, response) => {
  const headers = { 'content-type': 'application/json', 'x-path': request.url ?? '' };
  response.writeHead(200, headers).end('${JSON.stringify(answer)}');
}).listen(0, '127.0.0.1');
await once(server, 'listening');
const baseUrl = \`http://127.0.0.1:\${(server.address() as { port: number }).port}\`;
`;
const nodeTypes = { types: ['node'], typeRoots: [join(workspaceRoot, 'node_modules/@types')] };

it('generates a platform client from a document with an operation more, which compiles strictly and calls it', () => {
  using project = installAlone('platform-client');
  const document = readFileSync(join(specs, 'openapi.yaml'), 'utf8').replace(
    /^paths:\n/m,
    `paths:
  /tides/{harbour}:
    get:
      operationId: getTide
      parameters: [{ name: harbour, in: path, required: true, schema: { type: string } }]
      responses:
        '200':
          description: The tide.
          content:
            application/json: { schema: { type: object, required: [metres], properties: { metres: { type: number } } } }
`,
  );
  project.write({
    'my.yaml': document,
    'use.ts': `${withServer({ metres: 3.4 })}
      import { createClient } from './src/gen/index.ts';
      const client = createClient({ baseUrl, apiKey: 'key' });
      const { data, response } = await client.GET('/tides/{harbour}', { params: { path: { harbour: 'oban' } } });
      const metres: number = data!.metres;
      console.log(metres, response.headers.get('x-path'));
      // @ts-expect-error: the document has no such operation.
      await client.GET('/nowhere');
      server.close();
      server.closeAllConnections();`,
  });
  const generate = ['@skerry/platform-client', 'generate', '--spec', 'my.yaml', '--out', 'src/gen'];
  project.run('npx', [...generate, '--import-extension', 'ts'], inCache);
  project.check(['use.ts'], { ...nodeTypes, allowImportingTsExtensions: true, skipLibCheck: false });
  expect(project.run(process.execPath, ['use.ts'])).toBe('3.4 /tides/oban\n');
  // Without an extension given, a project whose compiler writes JavaScript can use it.
  project.run('npx', generate, inCache);
  project.check(['src/gen/index.ts'], { skipLibCheck: false });
});

it('generates from the packed document what this repository has generated', () => {
  using project = installAlone('platform-client');
  const document = 'node_modules/@skerry/platform-client/dist/openapi.yaml';
  const flags = ['--spec', document, '--out', 'gen', '--import-extension', 'ts'];
  project.run('npx', ['@skerry/platform-client', 'generate', ...flags], inCache);
  for (const name of ['schema.ts', 'types.ts']) {
    const own = readFileSync(join(workspaceRoot, 'packages/platform-client/src/gen', name), 'utf8');
    expect(withoutHead(readFileSync(join(project.path, 'gen', name), 'utf8'))).toBe(withoutHead(own));
  }
});

it('generates an agent client from protocol buffers with a call more, which compiles strictly and calls it', () => {
  using project = installAlone('envd-client');
  cpSync(specs, join(project.path, 'protos'), { recursive: true });
  const proto = join(specs, 'process/process.proto');
  const text = readFileSync(proto, 'utf8').replace(
    /^service Process \{\n/m,
    'message ReniceRequest { uint32 nice = 1; }\nmessage ReniceResponse { string said = 1; }\n' +
      'service Process {\n  rpc Renice(ReniceRequest) returns (ReniceResponse);\n',
  );
  project.write({
    'protos/process/process.proto': text,
    'use.ts': `${withServer({ said: 'nice' })}
      import { createClient } from './src/gen/index.ts';
      const client = createClient({ baseUrl });
      const { said } = await client.process.renice({ nice: 5 });
      console.log(said, typeof client.filesystem.stat);
      server.close();
      server.closeAllConnections();`,
  });
  const flags = ['--proto', 'protos', '--out', 'src/gen', '--import-extension', 'ts'];
  project.run('npx', ['@skerry/envd-client', 'generate', ...flags], inCache);
  project.check(['use.ts'], { ...nodeTypes, allowImportingTsExtensions: true });
  expect(project.run(process.execPath, ['use.ts'])).toBe('nice function\n');
  const own = readFileSync(
    join(workspaceRoot, 'packages/envd-client/src/gen/filesystem/filesystem_pb.ts'),
    'utf8',
  );
  expect(readFileSync(join(project.path, 'src/gen/filesystem/filesystem_pb.ts'), 'utf8')).toBe(own);
});

it('reads the document from the URL of a server', async () => {
  using project = installAlone('platform-client');
  const served = JSON.stringify(join(specs, 'openapi.yaml'));
  const program = `const server = require('node:http').createServer((request, response) => {
  require('node:fs').createReadStream(${served}).pipe(response);
}).listen(0, '127.0.0.1', () => console.log(server.address().port));`;
  // A process of its own, since the generator is waited for without a turn of this one's event loop.
  const server = spawn(process.execPath, ['--eval', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void server.kill());
  const [port] = (await once(createInterface({ input: server.stdout }), 'line')) as [string];
  const flags = ['--spec', `http://127.0.0.1:${port}/openapi.yaml`, '--out', 'gen'];
  expect(project.run('npx', ['@skerry/platform-client', 'generate', ...flags], inCache)).toBe(
    'wrote gen/index.ts, schema.ts and types.ts\n',
  );
  project.check(['gen/index.ts'], { skipLibCheck: false });
});

it('says what is wrong with arguments and sources, and ends with a status that is not 0', () => {
  using project = installAlone('platform-client');
  const generate =
    (...argv: string[]) =>
    () =>
      project.run('npx', ['@skerry/platform-client', 'generate', ...argv], inCache);
  expect(generate()).toThrow(
    /ended with 2\n[\s\S]*--spec is missing\n\nUsage: npx @skerry\/platform-client generate/,
  );
  expect(generate('--spec', 'none.yaml', '--out', 'gen')).toThrow(/ended with 1\n[\s\S]*none\.yaml/);
});
