import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
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
  it('describes a file with its owner, permissions and time', async () => {
    const path = join(folder(), 'file.txt');
    writeFileSync(path, 'hello', { mode: 0o640 });
    const { entry } = await agent.files().stat({ path });
    expect(entry).toMatchObject({
      name: 'file.txt',
      path,
      type: FileType.FILE,
      size: 5n,
      mode: 0o640,
      permissions: '-rw-r-----',
      owner: 'root',
      group: 'root',
      metadata: {},
    });
    expect(Number(entry?.modifiedTime?.seconds)).toBe(Math.floor(statSync(path).mtimeMs / 1000));
    expect(entry?.symlinkTarget).toBeUndefined();
  });

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

  it('takes type and mode of a link from its target, size and permissions from the link', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'real'));
    chmodSync(join(dir, 'real'), 0o700);
    symlinkSync('real', join(dir, 'link'));
    const { entry } = await agent.files().stat({ path: join(dir, 'link') });
    expect(entry).toMatchObject({
      name: 'link',
      type: FileType.DIRECTORY,
      mode: 0o700,
      size: 4n,
      permissions: 'Lrwxrwxrwx',
      symlinkTarget: join(dir, 'real'),
    });
  });

  it.each(['nowhere', 'loop'])(
    'shows a link that leads to %s as unspecified, with its own path as target',
    async (to) => {
      const path = join(folder(), 'loop');
      symlinkSync(to, path);
      const { entry } = await agent.files().stat({ path });
      expect([entry?.type, entry?.symlinkTarget]).toEqual([FileType.UNSPECIFIED, path]);
    },
  );

  it.each(['/no/such', '/etc/passwd/below'])('answers not_found for %s', async (path) => {
    await expect(agent.files().stat({ path })).rejects.toMatchObject({ code: Code.NotFound });
    const { status, json } = await agent.call('filesystem.Filesystem/Stat', { path });
    expect([status, json]).toMatchObject([404, { code: 'not_found' }]);
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
  it('lists depth first in lexical order, without the directory itself', async () => {
    const dir = folder();
    for (const path of ['b/inner/deep', 'a', 'c']) mkdirSync(join(dir, path), { recursive: true });
    writeFileSync(join(dir, 'b/file'), '');
    const names = async (depth?: number): Promise<string[]> => {
      const { entries } = await agent
        .files()
        .listDir(depth === undefined ? { path: dir } : { path: dir, depth });
      return entries.map(({ path }) => path.slice(dir.length + 1));
    };
    expect(await names()).toEqual(['a', 'b', 'c']);
    expect(await names(1)).toEqual(['a', 'b', 'c']);
    expect(await names(2)).toEqual(['a', 'b', 'b/file', 'b/inner', 'c']);
    expect(await names(9)).toEqual(['a', 'b', 'b/file', 'b/inner', 'b/inner/deep', 'c']);
  });

  it('follows a link given as path and keeps that path, but enters no link below', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'real/sub'), { recursive: true });
    writeFileSync(join(dir, 'real/sub/file'), '');
    symlinkSync('sub', join(dir, 'real/to-sub'));
    symlinkSync('real', join(dir, 'link'));
    const { entries } = await agent.files().listDir({ path: join(dir, 'link'), depth: 5 });
    expect(entries.map(({ path }) => path)).toEqual(
      ['sub', 'sub/file', 'to-sub'].map((name) => join(dir, 'link', name)),
    );
  });

  it('tells its errors apart', async () => {
    const dir = folder();
    symlinkSync('loop', join(dir, 'loop'));
    const files = agent.files();
    await expect(files.listDir({ path: join(dir, 'none') })).rejects.toMatchObject({ code: Code.NotFound });
    await expect(files.listDir({ path: '/etc/passwd' })).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
    await expect(files.listDir({ path: join(dir, 'loop') })).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
  });

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

describe('MakeDir', () => {
  it('makes parents with mode 0755, owned by the user, and answers the entry', async () => {
    const path = join(folder(), 'a/b');
    const { entry } = await agent.files().makeDir({ path });
    expect(entry).toMatchObject({ path, owner: 'user', group: 'user', permissions: 'drwxr-xr-x' });
    expect(statSync(join(path, '..'))).toMatchObject({ uid: 1000, gid: 1000 });
  });

  it('tells a directory, a file and a file among the parents apart', async () => {
    const dir = folder();
    writeFileSync(join(dir, 'file'), '');
    const files = agent.files();
    await expect(files.makeDir({ path: dir })).rejects.toMatchObject({ code: Code.AlreadyExists });
    await expect(files.makeDir({ path: join(dir, 'file') })).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
    await expect(files.makeDir({ path: join(dir, 'file/x') })).rejects.toMatchObject({ code: Code.Internal });
    const { status, json } = await agent.call('filesystem.Filesystem/MakeDir', { path: dir });
    expect([status, json]).toMatchObject([409, { code: 'already_exists' }]);
  });
});

describe('Move', () => {
  it('makes the parents of the destination, replaces a file and keeps the owner', async () => {
    const dir = folder();
    writeFileSync(join(dir, 'from'), 'new');
    mkdirSync(join(dir, 'x'));
    writeFileSync(join(dir, 'x/to'), 'old');
    const { entry } = await agent.files().move({ source: join(dir, 'from'), destination: join(dir, 'x/to') });
    expect(entry).toMatchObject({ path: join(dir, 'x/to'), owner: 'root', size: 3n });
    expect(readFileSync(join(dir, 'x/to'), 'utf8')).toBe('new');
    await agent.files().move({ source: join(dir, 'x'), destination: join(dir, 'y/z') });
    expect(existsSync(join(dir, 'y/z/to'))).toBe(true);
  });

  it('fails with not_found for the source and internal for what rename refuses', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'full/child'), { recursive: true });
    mkdirSync(join(dir, 'source'));
    const move = (source: string, destination: string) =>
      agent.files().move({ source: join(dir, source), destination });
    await expect(move('none', join(dir, 'x'))).rejects.toMatchObject({ code: Code.NotFound });
    await expect(move('source', join(dir, 'full'))).rejects.toMatchObject({ code: Code.Internal });
    await expect(move('source', join(agent.smallDisk, 'x'))).rejects.toMatchObject({ code: Code.Internal });
    await expect(move('source', join(dir, 'source/in/itself'))).rejects.toMatchObject({
      code: Code.Internal,
    });
  });
});

describe('Remove', () => {
  it('removes a tree, and a missing path is a success', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'tree/inner'), { recursive: true });
    writeFileSync(join(dir, 'tree/inner/file'), '');
    await agent.files().remove({ path: join(dir, 'tree') });
    expect(existsSync(join(dir, 'tree'))).toBe(false);
    await agent.files().remove({ path: join(dir, 'tree') });
    await agent.files().remove({ path: '/etc/passwd/below' });
  });

  it('removes a link and not what it leads to', async () => {
    const dir = folder();
    mkdirSync(join(dir, 'kept'));
    symlinkSync('kept', join(dir, 'link'));
    await agent.files().remove({ path: join(dir, 'link') });
    expect(existsSync(join(dir, 'kept'))).toBe(true);
  });

  it('refuses the root directory and fails with internal where the kernel refuses', async () => {
    await expect(agent.files().remove({ path: '/' })).rejects.toMatchObject({ code: Code.InvalidArgument });
    await expect(agent.files().remove({ path: '/proc/version' })).rejects.toMatchObject({
      code: Code.Internal,
    });
  });
});
