import { chmodSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import { FileType } from '@skerry/envd-client/filesystem';
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

  it('shows digits for ids without a name', async () => {
    const path = join(folder(), 'foreign');
    writeFileSync(path, '');
    const { chownSync } = await import('node:fs');
    chownSync(path, 4242, 2001);
    const { entry } = await agent.files().stat({ path });
    expect([entry?.owner, entry?.group]).toEqual(['4242', 'extra']);
  });

  it('refuses the home of another user by name', async () => {
    await expect(agent.files().stat({ path: '~root/x' })).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
  });

  it('starts relative paths at the home of the user of the request', async () => {
    writeFileSync(join(agent.home, 'here'), '');
    expect((await agent.files().stat({ path: 'here' })).entry?.path).toBe(join(agent.home, 'here'));
    const asRoot = agent.files({ headers: { authorization: `Basic ${btoa('root:')}` } });
    await expect(asRoot.stat({ path: 'here' })).rejects.toMatchObject({ code: Code.NotFound });
  });

  it('marks special bits the way the protocol does', async () => {
    const dir = folder();
    chmodSync(dir, 0o1777);
    expect((await agent.files().stat({ path: dir })).entry?.permissions).toBe('dtrwxrwxrwx');
    expect((await agent.files().stat({ path: '/dev/null' })).entry).toMatchObject({
      permissions: 'Dcrw-rw-rw-',
      type: FileType.UNSPECIFIED,
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

describe('Move', () => {
  it('fails with internal for a folder that would go into itself', async () => {
    const source = join(folder(), 'source');
    mkdirSync(source);
    await expect(
      agent.files().move({ source, destination: join(source, 'in/itself') }),
    ).rejects.toMatchObject({ code: Code.Internal });
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
