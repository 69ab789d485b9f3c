import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createStore } from './sqlite.ts';
import { describeStore } from './suite/suite.ts';

describeStore('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-store-'));
  const path = join(folder, 'skerry.db');
  const first = await createStore({ path });
  const stores = [first];
  return {
    store: first,
    // The first connection stays open, as if its process had been killed: no close flushes it.
    reopen: async () => {
      const store = await createStore({ path });
      stores.push(store);
      return store;
    },
    remove: async () => {
      for (const store of stores) await store.close();
      await rm(folder, { recursive: true });
    },
  };
});

it('protects the database and its side files from other users', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-store-'));
  const store = await createStore({ path: join(folder, 'skerry.db') });
  for (const name of ['skerry.db', 'skerry.db-wal']) {
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  }
  await store.close();
  await rm(folder, { recursive: true });
});

it('rejects a file that is not a database and names it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-store-'));
  const path = join(folder, 'skerry.db');
  await writeFile(path, 'this is not a database, only a text that is long enough'.repeat(40));
  await expect(createStore({ path })).rejects.toThrow(path);
  await rm(folder, { recursive: true });
});
