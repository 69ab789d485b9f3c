import { open, readdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Sandbox, snapshots } from '@skerry/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../stack/run-program.ts';
import { skerryProgram } from '../stack/skerry-program.ts';
import { type Stack, startStack } from '../stack/stack.ts';

let stack: Stack;
beforeAll(async () => {
  stack = await startStack();
});
afterEach(async () => {
  for await (const { sandboxId } of Sandbox.list(stack.connection))
    await Sandbox.kill(sandboxId, stack.connection);
  for await (const { snapshotId } of snapshots.list(stack.connection))
    await snapshots.delete(snapshotId, stack.connection);
});
afterAll(() => stack.down());

const create = async (template = 'base'): Promise<Sandbox> =>
  Sandbox.create({ ...stack.connection, template, timeoutMs: 120_000 });
const capture = async (sandbox: Sandbox, name?: string): Promise<string> =>
  (await sandbox.createSnapshot({ memory: false, name })).snapshotId;
const skerry = (...argv: string[]): Promise<string> =>
  runProgram(skerryProgram, [...argv.slice(0, 2), '--data', stack.dataDir, ...argv.slice(2)]);
const inHome = async (to: string, from?: string): Promise<string[]> => {
  const found = await snapshots.diff(to, { ...stack.connection, from });
  return found
    .filter(({ path }) => path.startsWith('/home/user/'))
    .map(({ path, change, fields }) => [change, path, ...fields].join(' '));
};

/** Changes one byte of the file that is written in the only snapshot there is, on the host. */
const damage = async (text: string): Promise<void> => {
  const folder = join(stack.dataDir, 'snapshots');
  const [id = ''] = await readdir(folder);
  const image = join(folder, id, 'disk.ext4');
  const { atime, mtime } = await stat(image);
  await using file = await open(image, 'r+');
  const bytes = Buffer.alloc(2 ** 20);
  for (let offset = 0; ; offset += bytes.length - 4096) {
    const { bytesRead } = await file.read(bytes, 0, bytes.length, offset);
    if (bytesRead === 0) throw new Error('the file is not in the image');
    const at = bytes.indexOf(text);
    if (at === -1) continue;
    await file.write('X', offset + at);
    break;
  }
  await utimes(image, atime, mtime);
};

describe('a comparison of files', () => {
  it('tells what a sandbox has changed since it began, and what differs between any two', async () => {
    const source = await create();
    await source.files.write('/home/user/kept', 'kept');
    await source.files.write('/home/user/changed', 'before');
    const before = await capture(source, 'before');
    expect(await inHome(source.sandboxId)).toEqual(['added /home/user/changed', 'added /home/user/kept']);
    expect(await inHome(before)).toEqual(['added /home/user/changed', 'added /home/user/kept']);

    const copy = await create(before);
    expect(await inHome(copy.sandboxId)).toEqual([]);
    await copy.commands.run('rm kept; echo -n after! > changed; chmod 600 .profile; ln -s x link');
    const changes = [
      'changed /home/user/.profile mode',
      'changed /home/user/changed content',
      'removed /home/user/kept',
      'added /home/user/link',
    ];
    expect(await inHome(copy.sandboxId)).toEqual(changes);
    expect(await inHome(copy.sandboxId, source.sandboxId)).toEqual(changes);
    const after = await capture(copy);
    expect(await inHome(after)).toEqual(changes);
    expect(await inHome(after, before)).toEqual(changes);
    expect(await inHome('base', before)).toEqual(['removed /home/user/changed', 'removed /home/user/kept']);
    await copy.pause({ memory: false });
    expect(await inHome(copy.sandboxId, 'before')).toEqual(changes);
  });

  it('is refused for what is not there', async () => {
    const diff = (to: string, from?: string) => snapshots.diff(to, { ...stack.connection, from });
    await expect(diff('none')).rejects.toMatchObject({ code: 'not_found' });
    await expect(diff('base', 'inone')).rejects.toMatchObject({ code: 'not_found' });
    await expect(diff('a b')).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

describe('the log of a snapshot', () => {
  it('goes back to the image, also over what was deleted', async () => {
    const first = await create();
    const one = await capture(first, 'one');
    const second = await create(one);
    const two = await capture(second, 'two');
    const third = await create(two);
    const three = await capture(third);
    await Promise.all([second, third].map((sandbox) => sandbox.kill()));
    await snapshots.delete(one, stack.connection);
    const log = await snapshots.log(three, stack.connection);
    expect(log.map(({ snapshotId, sandboxId, state }) => [snapshotId, sandboxId, state])).toEqual([
      [three, third.sandboxId, 'ready'],
      [two, second.sandboxId, 'ready'],
      [undefined, first.sandboxId, 'removed'],
    ]);
    expect(new Set(log.map(({ buildId }) => buildId)).size).toBe(3);
    const times = log.map(({ createdAt }) => createdAt.getTime());
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    await expect(snapshots.log('base', stack.connection)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('skerry snapshot', () => {
  it('verifies what is whole, compares, and tells where it comes from', async () => {
    const source = await create();
    const snapshotId = await capture(source, 'by-hand');
    expect(await skerry('snapshot', 'verify', 'by-hand')).toBe('ok  by-hand\n');
    await source.commands.run('echo x > new; chmod 600 .bashrc; touch "$(printf "a\\nb")"');
    const lines = (await skerry('snapshot', 'diff', snapshotId, source.sandboxId)).split('\n');
    expect(lines.filter((line) => line.includes('/home/user/'))).toEqual([
      '~ /home/user/.bashrc  (mode)',
      '+ "/home/user/a\\nb"',
      '+ /home/user/new',
    ]);
    expect(await skerry('snapshot', 'diff', source.sandboxId)).toContain('+ /home/user/new\n');
    const [json = ''] = (await skerry('snapshot', 'diff', '--json', 'by-hand', source.sandboxId)).split('\n');
    expect(JSON.parse(json)).toMatchObject({
      path: expect.stringMatching(/^\//),
      change: expect.any(String),
    });
    expect(await skerry('snapshot', 'log', 'by-hand')).toMatch(
      new RegExp(`^[0-9a-f-]{36}  [\\d-]+T[\\d:.]+Z  of ${source.sandboxId}  ready  ${snapshotId}\\n$`),
    );
  });

  it('finds an altered one and the file in it, and no sandbox is made of that', async () => {
    const source = await create();
    await source.files.write('/home/user/mark', 'a sentence that is in no other file');
    await capture(source, 'altered');
    await source.kill();
    await damage('a sentence that is in no other file');
    const verified = await skerry('snapshot', 'verify', 'altered').catch((error: Error) => error.message);
    expect(verified).toMatch(/ended with 1/);
    const problems = await snapshots.verify('altered', stack.connection);
    expect(problems).toEqual([
      expect.stringMatching(/^the hash of its disk is [\da-f]{64} and was [\da-f]{64}$/),
      '/home/user/mark has changed',
    ]);
    const made = create('altered');
    await expect(made).rejects.toMatchObject({
      code: 'internal',
      message: expect.stringMatching(/snapshot is damaged .* hash of its disk/),
    });
    expect(await snapshots.delete('altered', stack.connection)).toBe(true);
  });
});
