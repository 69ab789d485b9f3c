import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemory } from '@skerry/runtime/memory';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ensureApiKey } from './api-key.ts';
import { createPlatform, type Platform } from './app.ts';
import { createSystemClock } from './clock.ts';
import { createOneMachine } from './hosts/one-machine.ts';
import { documentPaths } from './http/document.ts';
import { createStore } from './store/sqlite.ts';
import type { Store } from './store/store.ts';

const methods = new Set(['get', 'put', 'post', 'delete', 'patch']);
/** But those of the address space of a sandbox, if there are any, which name servers of their own, and those without a key. */
const operations = Object.entries(documentPaths)
  .filter(([, item]) => !('servers' in item))
  .flatMap(([path, item]) =>
    Object.entries(item as Record<string, { security?: unknown[] }>)
      .filter(([name, { security }]) => methods.has(name) && security?.length !== 0)
      .map(([method]) => ({ method: method.toUpperCase(), path })),
  );

let folder: string;
let store: Store;
let platform: Platform;
let server: Server;
let key: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skerry-app-'));
  store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret' });
  key = await ensureApiKey({ dataDir: folder, store, clock: createSystemClock() });
  const silent = () => undefined;
  platform = createPlatform({
    hosts: createOneMachine({
      runtime: createMemory({
        dataDir: folder,
        agent: () => (_request, response) => response.writeHead(204).end(),
      }),
    }),
    store,
    images: { base: { rootfs: '/' } },
    secret: 'secret',
    domain: null,
    log: { debug: silent, info: silent, warn: silent, error: silent },
  });
  await platform.start();
  server = createServer((request, response) => platform.routing(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await platform.close();
  await store.close();
  await rm(folder, { recursive: true });
});

/** Without a body and with a made-up value for each parameter: whether the key is asked for does not depend on them. */
const ask = async (method: string, path: string, headers: Record<string, string> = {}) => {
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}${path.replaceAll(/\{\w+\}/g, 'x')}`;
  const response = await fetch(url, { method, headers });
  return { status: response.status, body: await response.text() };
};

describe('every operation of the document', () => {
  it('is listed here', () => {
    expect(operations.length).toBeGreaterThan(30);
  });

  it.each(operations)('$method $path asks for the API key', async ({ method, path }) => {
    const refused = { status: 401, body: expect.stringContaining('X-API-Key') };
    expect(await ask(method, path)).toEqual(refused);
    const unknown = `e2b_${'0'.repeat(40)}`;
    expect(await ask(method, path, { 'x-api-key': unknown })).toMatchObject({ status: 401 });
    // So that not everything is answered so.
    expect(await ask(method, path, { 'x-api-key': key })).not.toMatchObject({ status: 401 });
  });
});
