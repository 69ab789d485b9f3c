import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMemory } from '@skerry/runtime/memory';
import { ensureApiKey } from '../api-key.ts';
import { createPlatform, type Platform } from '../app.ts';
import { createSystemClock } from '../clock.ts';
import { createOneMachine } from '../hosts/one-machine.ts';
import { createStore } from '../store/sqlite.ts';

export interface ServedPlatform {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly platform: Platform;
  close(): Promise<void>;
}

/** Serves a platform on loopback, whose sandboxes exist in memory and run nothing. */
export const servePlatform = async (): Promise<ServedPlatform> => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-app-'));
  const store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret' });
  const apiKey = await ensureApiKey({ dataDir: folder, store, clock: createSystemClock() });
  const silent = () => undefined;
  const platform = createPlatform({
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
  const server = createServer((request, response) => platform.routing(request, response)).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey,
    platform,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await platform.close();
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
};
