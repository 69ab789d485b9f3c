import { text } from 'node:stream/consumers';
import type { FilesystemEvent } from 'e2b-oldest';
import { expect, it, vi } from 'vitest';
import type { Ask } from './given.ts';

const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 7) % 256);

/** Tests with the official client: reading, writing, moving and removing files, and watching folders. */
export function filesScenario(ask: Ask): void {
  it('writes and reads text, bytes, blobs and streams', async () => {
    const { files } = ask().sandbox;
    expect(await files.write('notes/größe.txt', 'häuser')).toMatchObject({
      name: 'größe.txt',
      path: '/home/user/notes/größe.txt',
      type: 'file',
    });
    expect(await files.read('/home/user/notes/größe.txt')).toBe('häuser');

    await files.write('/tmp/bytes', bytes.buffer);
    expect(await files.read('/tmp/bytes', { format: 'bytes' })).toEqual(bytes);
    const blob = await files.read('/tmp/bytes', { format: 'blob' });
    expect(new Uint8Array(await blob.arrayBuffer())).toEqual(bytes);

    await files.write('/tmp/blob', new Blob(['from a ', 'blob']));
    expect(await files.read('/tmp/blob')).toBe('from a blob');
    await files.write('/tmp/stream', new Blob(['from a stream']).stream());
    expect(await text(await files.read('/tmp/stream', { format: 'stream' }))).toBe('from a stream');
    await files.write('/tmp/empty', '');
    expect(await files.read('/tmp/empty')).toBe('');
  });

  it('writes several files with one call', async () => {
    const { files } = ask().sandbox;
    const written = await files.write([
      { path: 'several/a', data: 'first' },
      { path: '/tmp/several/deep/b', data: bytes.buffer },
    ]);
    expect(written.map(({ path }) => path)).toEqual(['/home/user/several/a', '/tmp/several/deep/b']);
    expect(await files.read('several/a')).toBe('first');
    expect(await files.read('/tmp/several/deep/b', { format: 'bytes' })).toEqual(bytes);
  });

  it('takes names of any spelling', async () => {
    const { files } = ask().sandbox;
    const name = "ü?&=#%20+;'.txt";
    await files.write(`/tmp/o'd d/${name}`, 'odd');
    expect(await files.read(`/tmp/o'd d/${name}`)).toBe('odd');
    expect((await files.list("/tmp/o'd d")).map((entry) => entry.name)).toEqual([name]);
  });

  it('writes as another user, into that home', async () => {
    const { files } = ask().sandbox;
    await files.write('mine', 'of root', { user: 'root' });
    expect(await files.read('/root/mine')).toBe('of root');
    expect(await files.getInfo('/root/mine')).toMatchObject({ owner: 'root', group: 'root' });
  });

  it('lists a folder to a depth, with what is known of each entry', async () => {
    const { files, commands } = ask().sandbox;
    await files.write([
      { path: 'tree/a', data: 'abc' },
      { path: 'tree/sub/b', data: '' },
      { path: 'tree/sub/deep/c', data: '' },
    ]);
    await commands.run('chmod 640 tree/a && ln -s a tree/link');
    const names = async (depth?: number) =>
      (await files.list('tree', depth === undefined ? {} : { depth })).map(({ path }) =>
        path.replace('/home/user/tree/', ''),
      );
    expect(await names()).toEqual(['a', 'link', 'sub']);
    expect(await names(2)).toEqual(['a', 'link', 'sub', 'sub/b', 'sub/deep']);
    expect(await names(3)).toEqual(['a', 'link', 'sub', 'sub/b', 'sub/deep', 'sub/deep/c']);

    const info = await files.getInfo('tree/a');
    expect(info).toMatchObject({
      ...{ name: 'a', path: '/home/user/tree/a', type: 'file', size: 3, mode: 0o640 },
      ...{ permissions: '-rw-r-----', owner: 'user', group: 'user' },
    });
    expect(Math.abs(Date.now() - (info.modifiedTime?.getTime() ?? 0))).toBeLessThan(60_000);
    expect(await files.getInfo('tree/link')).toMatchObject({ symlinkTarget: '/home/user/tree/a' });
    expect(await files.getInfo('tree/sub')).toMatchObject({ type: 'dir', permissions: 'drwxr-xr-x' });
  });

  it('makes, renames and removes', async () => {
    const { files } = ask().sandbox;
    expect(await files.makeDir('made/of/parts')).toBe(true);
    expect(await files.makeDir('made/of/parts')).toBe(false);
    await files.write('made/old', 'same');
    expect(await files.rename('made/old', 'moved/new')).toMatchObject({ path: '/home/user/moved/new' });
    expect(await files.exists('made/old')).toBe(false);
    expect(await files.exists('moved/new')).toBe(true);
    expect(await files.read('moved/new')).toBe('same');
    await files.remove('made');
    expect(await files.exists('made')).toBe(false);
    await files.remove('made');
  });

  it('says what is not found and what is not a file', async () => {
    const { e2b, sandbox } = ask();
    const { files } = sandbox;
    await expect(files.read('/nowhere')).rejects.toBeInstanceOf(e2b.NotFoundError);
    await expect(files.list('/nowhere')).rejects.toBeInstanceOf(e2b.NotFoundError);
    await expect(files.getInfo('/nowhere')).rejects.toBeInstanceOf(e2b.NotFoundError);
    await expect(files.rename('/nowhere', '/tmp/x')).rejects.toBeInstanceOf(e2b.NotFoundError);
    await expect(files.watchDir('/nowhere', () => {})).rejects.toBeInstanceOf(e2b.NotFoundError);
    await expect(files.read('/etc')).rejects.toBeInstanceOf(e2b.InvalidArgumentError);
    await expect(files.list('/etc/passwd')).rejects.toBeInstanceOf(e2b.InvalidArgumentError);
    await expect(files.makeDir('/etc/passwd')).rejects.toBeInstanceOf(e2b.InvalidArgumentError);
  });

  it('reports changes of a watched folder until it is stopped', async () => {
    const { files, commands } = ask().sandbox;
    await files.makeDir('/tmp/watched');
    const seen: FilesystemEvent[] = [];
    const onExit = vi.fn<() => void>();
    const watch = await files.watchDir('/tmp/watched', (event) => void seen.push(event), { onExit });
    await commands.run('cd /tmp/watched; echo hi > a; chmod 600 a; mv a b; rm b; mkdir d; echo x > d/below');
    await expect.poll(() => seen.map(({ type, name }) => `${type} ${name}`)).toContain('create d');
    expect(seen.map(({ type, name }) => `${type} ${name}`)).toEqual([
      ...['create a', 'write a', 'chmod a', 'rename a', 'create b', 'remove b', 'create d'],
    ]);
    await watch.stop();
    await expect.poll(() => onExit).toHaveBeenCalledOnce();
    await files.write('/tmp/watched/late', '');
    expect(seen.map(({ name }) => name)).not.toContain('late');
  });

  it('reports changes below a folder that is watched recursively', async () => {
    const { files } = ask().sandbox;
    await files.makeDir('/tmp/deep/one');
    const seen: string[] = [];
    const watch = await files.watchDir('/tmp/deep', ({ type, name }) => void seen.push(`${type} ${name}`), {
      recursive: true,
    });
    await files.write('/tmp/deep/one/two/three', 'x');
    await expect.poll(() => seen).toContain('write one/two/three');
    expect(seen).toEqual(expect.arrayContaining(['create one/two', 'create one/two/three']));
    await watch.stop();
  });
}
