import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createStore } from './sqlite.ts';
import { describeStore } from './suite/suite.ts';

describeStore('sqlite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-store-'));
  const path = join(folder, 'skerry.db');
  const first = await createStore({ path, secret: 'secret' });
  const stores = [first];
  return {
    store: first,
    // The first connection stays open, as if its process had been killed: no close flushes it.
    reopen: async () => {
      const store = await createStore({ path, secret: 'secret' });
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
  const store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret' });
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
  await expect(createStore({ path, secret: 'secret' })).rejects.toThrow(path);
  await rm(folder, { recursive: true });
});

it('encrypts variables, and says what to do where the secret is another one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'skerry-store-'));
  const path = join(folder, 'skerry.db');
  const store = await createStore({ path, secret: 'secret' });
  const env = { TOKEN: 'a-value-that-stays-secret' };
  const size = { cpuCount: 1, memoryMb: 128, diskMb: 100 };
  const build = { id: 'b1', createdAt: 1, ...size, minFreeDiskMb: 0, isolation: null, tags: ['default'] };
  await store.addBuild({ ...build, project: 'local' }, { templateId: 't1', name: 'made', superseded: '' });
  await store.startBuild('b1', 2);
  const start = { startCmd: 'serve', readyCmd: null, user: 'user', workdir: '/', env };
  const made = { env, runConfig: { user: 'worker', workdir: '/srv', env }, start };
  await store.finishBuild('b1', {
    finishedAt: 3,
    image: 'i1',
    imageBytes: 1,
    ...made,
    checkpointId: null,
    isolation: null,
  });
  const config = { ...made.runConfig, entrypoint: [], command: [], healthcheck: [], onbuild: [] };
  const result = { image: 'i1', imageBytes: 1, snapshotId: null, config: { ...config, exposedPorts: [] } };
  const entry = { key: 'k', parent: null, description: 'FROM x', createdAt: 1, ...result };
  await store.keepCached(entry, { replaces: false });
  const of = { templateId: 't1', templateName: 'made', snapshotId: null, buildId: 'b1', metadata: {} };
  const choices = {
    envVars: env,
    defaultUser: '',
    defaultWorkdir: '',
    network: null,
    ingress: null,
    isolation: 'container' as const,
    autoPause: null,
    wakeMs: null,
  };
  const sandbox = {
    id: 'i1',
    project: 'local',
    keyId: null,
    createdAt: 1,
    endAt: 9,
    secure: true,
    ...of,
    ...choices,
    ...size,
  };
  await store.reserveSandbox(sandbox, { maxActive: 1 });
  await store.close();
  for (const name of await readdir(folder))
    expect([name, (await readFile(join(folder, name))).includes('stays-secret')]).toEqual([name, false]);

  const again = await createStore({ path, secret: 'secret' });
  expect(await again.findTaggedBuild('t1', 'default')).toMatchObject(made);
  expect(await again.findCached(['k'])).toMatchObject([result]);
  expect(await again.findSandbox('i1')).toMatchObject({ envVars: env });
  await again.close();
  const other = await createStore({ path, secret: 'another' });
  await expect(other.findSandbox('i1')).rejects.toThrow('restore the file "secret"');
  await other.close();
  await rm(folder, { recursive: true });
});
