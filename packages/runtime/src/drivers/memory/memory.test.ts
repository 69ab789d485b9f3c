import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CLOSED_NETWORK } from '../../network/policy.ts';
import type { Difference, InstanceOrigin, InstanceSpec } from '../../runtime.ts';
import { createMemory, type MemoryRuntime } from './memory.ts';

let dataDir: string;
let runtime: MemoryRuntime;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'memory-'));
  runtime = createMemory({ dataDir });
});
afterEach(async () => {
  for await (const instance of runtime.list()) await instance.stop();
  await rm(dataDir, { recursive: true });
});

const toSpec = (id: string, origin: InstanceOrigin = { rootfs: '/' }): InstanceSpec => ({
  id,
  ...origin,
  hostname: id,
  limits: { cpuCount: 1, memoryBytes: 1 << 28, diskBytes: 1 << 30, processCount: 100 },
  network: CLOSED_NETWORK,
});

it('shares its sandboxes with the next runtime of the same folder, and with no other', async () => {
  const before = await runtime.create(toSpec('one'));
  await before.pause({ memory: true });
  await runtime.close();
  const after = await createMemory({ dataDir }).get('one');
  expect(await after.state()).toBe('paused');
  await after.resume({ memory: true });
  expect(after.runId).toBe('run2');
  const other = createMemory({ dataDir: join(dataDir, 'other') });
  await expect(other.get('one')).rejects.toMatchObject({ code: 'not_found' });
});

it('ends a run by a crash: its listeners are called, its connections end, and only stop is possible', async () => {
  const instance = await runtime.create(toSpec('one'));
  const ended = new Promise<void>((resolve) => void instance.onExit(resolve));
  const connection = await instance.control();
  const closed = new Promise((resolve) => connection.resume().once('close', resolve));
  runtime.crash('one');
  await Promise.all([ended, closed]);
  expect(await instance.state()).toBe('stopped');
  await expect(instance.pause({ memory: false })).rejects.toMatchObject({ code: 'unavailable' });
  await expect(instance.snapshot({ id: 's', memory: false })).rejects.toMatchObject({ code: 'unavailable' });
  await instance.stop();
  expect(await readdir(join(dataDir, 'sandboxes'))).toEqual([]);
});

it('refuses a level that it does not have, and leaves nothing', async () => {
  await expect(runtime.create({ ...toSpec('one'), isolation: 'gvisor' })).rejects.toMatchObject({
    code: 'unsupported',
    message: 'sandbox one is of level gvisor, which this host does not run',
  });
  await expect(runtime.get('one')).rejects.toMatchObject({ code: 'not_found' });
});

it('refuses a connection to a port, as no program listens inside', async () => {
  const instance = await runtime.create(toSpec('one'));
  await expect(instance.connect(8080)).rejects.toMatchObject({ code: 'refused' });
});

it('finds no difference between sandboxes of one image, and compares no others', async () => {
  const source = await runtime.create(toSpec('one'));
  await source.snapshot({ id: 's1', memory: true });
  await expect(source.snapshot({ id: 's1', memory: true })).rejects.toMatchObject({ code: 'already_exists' });
  await runtime.create(toSpec('two', { snapshot: 's1' }));
  const found: Difference[] = [];
  for await (const one of runtime.snapshots.diff({ snapshot: 's1' }, { instance: 'two' })) found.push(one);
  expect(found).toEqual([]);
  const other = runtime.snapshots.diff({ rootfs: dataDir }, { instance: 'two' })[Symbol.asyncIterator]();
  await expect(other.next()).rejects.toMatchObject({ code: 'unsupported' });
});
