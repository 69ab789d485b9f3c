import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
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
