import { mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAgent, type TestAgent } from '../testing/start-agent.ts';

let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent();
  await agent.initialize({ defaultUser: 'user' });
});
afterAll(() => agent.stop());

let count = 0;
/** A new folder for one test. */
const folder = (): string => {
  count += 1;
  const path = join(agent.dir, `t${count}`);
  mkdirSync(path, { mode: 0o777 });
  return path;
};

describe('Stat', () => {
  it('writes the size as a JSON number, a large one exactly, and leaves metadata alone', async () => {
    const path = join(folder(), 'sparse');
    writeFileSync(path, '');
    truncateSync(path, 5 * 2 ** 40);
    const headers = { 'content-type': 'application/octet-stream', 'x-metadata-size': '12' };
    const other = `${path}2`;
    await agent.http({ method: 'POST', path: `/files?path=${other}`, headers, body: 'x' });
    const stat = await agent.call('filesystem.Filesystem/Stat', { path });
    expect(stat.json).toMatchObject({ entry: { size: 5 * 2 ** 40 } });
    const list = await agent.call('filesystem.Filesystem/ListDir', { path: join(path, '..') });
    expect(list.json).toMatchObject({
      entries: [{ size: 5 * 2 ** 40 }, { size: 1, metadata: { size: '12' } }],
    });
  });
});

describe('ListDir', () => {
  it('lists 20,000 entries while it goes on answering others', async () => {
    const dir = folder();
    for (let at = 0; at < 20_000; at += 1) writeFileSync(join(dir, `f${at}`), '');
    let slowestMs = 0;
    let isDone = false;
    const probe = async (): Promise<void> => {
      while (!isDone) {
        const started = performance.now();
        await agent.http({ path: '/health' });
        slowestMs = Math.max(slowestMs, performance.now() - started);
      }
    };
    const probing = probe();
    const begunMs = performance.now();
    const { entries } = await agent.files({ binary: true }).listDir({ path: dir });
    const tookMs = performance.now() - begunMs;
    isDone = true;
    await probing;
    expect(entries.length).toBe(20_000);
    // On a busy machine both take longer.
    expect(slowestMs).toBeLessThan(Math.max(2000, tookMs / 2));
  });
});

describe('Remove', () => {
  it('refuses the root directory and fails with internal where the kernel refuses', async () => {
    await expect(agent.files().remove({ path: '/' })).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(agent.files().remove({ path: '/proc/version' })).rejects.toMatchObject({
      code: Code.Internal,
    });
  });
});

describe('names that are not UTF-8', () => {
  const bytes = (...parts: (string | number)[]): Buffer =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from([part]))));
  const at = (dir: string, ...names: Buffer[]): Buffer =>
    names.reduce((path, name) => Buffer.concat([path, Buffer.from('/'), name]), Buffer.from(dir));
  const list = async (path: string): Promise<unknown> => {
    const { json } = await agent.call('filesystem.Filesystem/ListDir', { path, depth: 3 });
    const { entries = [] } = json as {
      entries?: { name: string; path: string; type: string; size?: number }[];
    };
    return entries.map((entry) => [entry.path.slice(path.length), entry.name, entry.size ?? 0]);
  };
  const remove = (path: string) => agent.call('filesystem.Filesystem/Remove', { path });

  it('are listed with escapes, and what they name is described and removed by these', async () => {
    const dir = folder();
    const broken = bytes('caf', 0xe9, '\\x41', 0xc3);
    writeFileSync(at(dir, broken), 'four');
    mkdirSync(at(dir, bytes(0xff)));
    mkdirSync(at(dir, bytes(0xff), bytes('plain é')));
    writeFileSync(at(dir, bytes(0xff), bytes('plain é'), bytes(0x80, 'z')), '');
    writeFileSync(join(dir, 'ok \ufffd'), '');
    const shown = 'caf\\xe9\\x5cx41\\xc3';
    expect(await list(dir)).toEqual([
      ['/\\xff', '\\xff', expect.any(Number)],
      ['/\\xff/plain é', 'plain é', expect.any(Number)],
      ['/\\xff/plain é/\\x80z', '\\x80z', 0],
      [`/${shown}`, shown, 4],
      ['/ok \ufffd', 'ok \ufffd', 0],
    ]);
    const stat = await agent.call('filesystem.Filesystem/Stat', { path: join(dir, shown) });
    expect(stat.json).toMatchObject({ entry: { name: shown, size: 4 } });
    for (const name of [shown, '\\xff']) expect((await remove(join(dir, name))).status).toBe(200);
    expect(await list(dir)).toEqual([['/ok \ufffd', 'ok \ufffd', 0]]);
  });

  it('do not stand for a name that is written like their escapes', async () => {
    const dir = folder();
    writeFileSync(join(dir, '\\xff'), 'text');
    writeFileSync(at(dir, bytes(0xff)), 'byte');
    await remove(join(dir, '\\xff'));
    expect(readdirSync(dir, { encoding: 'buffer' })).toEqual([bytes(0xff)]);
    await remove(join(dir, '\\xff'));
    expect(readdirSync(dir)).toEqual([]);
    expect((await remove(join(dir, '\\xff'))).status).toBe(200);
  });
});
