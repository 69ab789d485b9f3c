import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findClosedFolders, openClosedFolders } from './closed-folders.ts';
import { inPrivateMounts } from './private-mounts.ts';
import { mount } from './syscalls.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'mounts-'));
  await chmod(dir, 0o755);
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const asNobody = (path: string): string =>
  execFileSync('cat', [path], {
    uid: 65_534,
    gid: 65_534,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });

describe('private mounts', () => {
  it('are seen by a process that is started in them, and by no other', async () => {
    const point = join(dir, 'point');
    await mkdir(point);
    const before = process.cwd();
    const seen = inPrivateMounts(
      () => mount({ source: 'none', target: point, type: 'tmpfs', flags: 0, data: '' }),
      () => execFileSync('cat', ['/proc/self/mountinfo'], { encoding: 'utf8' }),
    );
    expect(seen).toContain(point);
    expect(await readFile('/proc/thread-self/mountinfo', 'utf8')).not.toContain(point);
    expect(execFileSync('cat', ['/proc/self/mountinfo'], { encoding: 'utf8' })).not.toContain(point);
    expect(execFileSync('pwd', { encoding: 'utf8' }).trim()).toBe(before);
  });

  it('are left again when the callback throws', () => {
    const act = (): void =>
      inPrivateMounts(
        () => {
          throw new Error('failed');
        },
        () => undefined,
      );
    const namespace = (): string => execFileSync('readlink', ['/proc/self/ns/mnt'], { encoding: 'utf8' });
    const before = namespace();
    expect(act).toThrow('failed');
    expect(namespace()).toBe(before);
  });
});

describe('a closed folder', () => {
  it('is passable for other users to a path below it, and shows nothing else', async () => {
    const closed = join(dir, 'closed');
    const inside = join(closed, 'a/b');
    await mkdir(inside, { recursive: true });
    await writeFile(join(inside, 'file'), 'found');
    await writeFile(join(closed, 'secret'), 'secret');
    await chmod(closed, 0o700);
    const ways = findClosedFolders([inside]);
    expect([...ways]).toEqual([[closed, [inside]]]);
    expect(() => asNobody(join(inside, 'file'))).toThrow();
    const prepare = (): void => openClosedFolders(ways);
    expect(inPrivateMounts(prepare, () => asNobody(join(inside, 'file')))).toBe('found');
    expect(() => inPrivateMounts(prepare, () => asNobody(join(closed, 'secret')))).toThrow();
    expect(() => asNobody(join(inside, 'file'))).toThrow();
  });

  it('is hidden on request also when all users may enter it, except for the given paths', async () => {
    const inside = join(dir, 'a');
    await mkdir(inside);
    await writeFile(join(dir, 'other'), 'hidden');
    for (const shown of [[inside], []]) {
      const prepare = (): void => openClosedFolders(findClosedFolders(shown, [dir]));
      const seen = inPrivateMounts(prepare, () => execFileSync('ls', [dir], { encoding: 'utf8' }));
      expect(seen).toBe(shown.length > 0 ? 'a\n' : '');
    }
    expect(await readFile(join(dir, 'other'), 'utf8')).toBe('hidden');
  });

  it('is not reported where all users may enter every folder', () => {
    expect(findClosedFolders([join(dir, 'x')]).size).toBe(0);
  });
});
