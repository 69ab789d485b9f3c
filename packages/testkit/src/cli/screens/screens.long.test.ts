// What commands print to a pipe, as it is kept in packages/cli/screens/piped: `vitest run --project long FILE -u` writes it.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReader, type Reader } from '../../pages/reader.ts';
import { imagesDir } from '../../stack/images-dir.ts';
import { joinStack, type SharedStack } from '../../stack/shared-stack.ts';
import { workspaceRoot } from '../../workspace/workspace-copy.ts';
import { type Line, toScript, withPlaceholders } from './transcript.ts';

const sessions: Record<string, readonly Line[]> = {
  sandbox: [
    'id=$(skerry sandbox create --timeout 10m --metadata of=screens)',
    'skerry sandbox list --metadata of=screens',
    'skerry sandbox info "$id"',
    `skerry sandbox exec "$id" -- 'echo out; exit 3'`,
    `skerry sandbox exec --json "$id" -- 'echo out; echo err >&2; exit 3'`,
    'skerry sandbox url "$id" 8080',
    'echo text > file.txt',
    'skerry sandbox cp file.txt "$id":',
    'skerry sandbox cp --json "$id":file.txt copy.txt',
    'skerry sandbox events --search initialized "$id"',
    'skerry sandbox pause --no-memory "$id"',
    'skerry sandbox list --metadata of=screens',
    'skerry sandbox info "$id" | grep ^ends',
    'skerry sandbox resume --json "$id"',
    'skerry sandbox explain "$id"',
    'skerry sandbox kill "$id"',
    'skerry sandbox run --timeout 1s -- sleep 100',
    'skerry sandbox run --json -- echo hello',
  ],
  snapshot: [
    'id=$(skerry sandbox create)',
    'skerry snapshot create --no-memory --name screens "$id"',
    'skerry snapshot list --name screens',
    `skerry sandbox exec "$id" -- 'echo 1 > one; rm .profile'`,
    'skerry snapshot diff screens "$id" | grep /home',
    'skerry snapshot log screens',
    'skerry snapshot verify screens',
    'skerry sandbox kill "$id"',
    'skerry snapshot delete screens',
  ],
  context: [
    'skerry context add --json work --api-url https://api.example.com --api-key secret',
    'skerry context add lab --api-url http://10.0.0.1:4000 --api-key secret',
    'skerry context use lab',
    'skerry context list',
    'skerry context use --json --none',
    'skerry context remove --json lab',
    'skerry context use lab',
  ],
  node: ['skerry node list', 'skerry node drain a', 'skerry node cordon --json a'],
  'error-unknown-sandbox': [
    'skerry sandbox info inone',
    'skerry sandbox exec inone -- true',
    'skerry sandbox pause inone iother',
    'skerry sandbox kill inone',
    'skerry sandbox pause --json inone',
    'skerry sandbox create no-such-template',
  ],
  'error-bad-key': [
    'SKERRY_API_KEY=wrong skerry sandbox list',
    'SKERRY_API_KEY= E2B_API_KEY= skerry sandbox list',
  ],
  'error-no-server': [
    'SKERRY_API_URL=$closed skerry sandbox list',
    'SKERRY_API_URL=$closed skerry sandbox run -- true',
    'SKERRY_API_URL= E2B_API_URL= skerry sandbox list --data ./none',
    'skerry down --data ./none',
  ],
  'error-port-taken': ['skerry up --data ./data --port "$taken" --log-level error'],
  'error-http-or-https': [
    'SKERRY_API_URL=$as_https skerry sandbox list',
    'SKERRY_API_URL=$as_http skerry sandbox list',
  ],
  'error-timeout': [
    'skerry sandbox create --timeout 2d',
    'skerry sandbox create --timeout 0',
    'skerry sandbox run --timeout soon -- true',
  ],
  'error-arguments': [
    'skerry sandbox exec inone',
    'skerry sandbox exec inone -u root -- id',
    'skerry sandbox list --no-such-option',
    'skerry sandbox lst',
    'skerry sandbox cp a b',
    'skerry sandbox kill',
  ],
};

let stack: SharedStack;
let reader: Reader;
let variables: Record<string, string>;
/** Speaks TLS, and has no certificate. */
const secured = createTlsServer();
beforeAll(async () => {
  stack = await joinStack();
  reader = createReader(stack.address);
  const closed = createServer();
  const [closedPort, tlsPort] = [await listen(closed), await listen(secured)];
  closed.close();
  const { port } = new URL(stack.address.apiUrl);
  variables = {
    closed: `http://127.0.0.1:${closedPort}`,
    taken: port,
    as_https: `https://127.0.0.1:${port}`,
    as_http: `http://127.0.0.1:${tlsPort}`,
    SKERRY_IMAGES_DIR: imagesDir,
  };
});
afterAll(async () => {
  secured.close();
  reader[Symbol.dispose]();
  await stack.leave();
});

const listen = async (server: Server): Promise<number> => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
};

describe('what is printed to a pipe', () => {
  it.each(Object.entries(sessions))('%s', async (name, lines) => {
    reader.write(`${name}.sh`, toScript(lines));
    const printed = await reader.run('bash', [`${name}.sh`], variables);
    const file = join(workspaceRoot, 'packages/cli/screens/piped', `${name}.txt`);
    await expect(withPlaceholders(printed, reader.path)).toMatchFileSnapshot(file);
  });
});
