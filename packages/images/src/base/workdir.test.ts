import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { addWorkdir } from './workdir.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skerry-workdir-'));
  mkdirSync(join(root, 'etc'));
  writeFileSync(
    join(root, 'etc/passwd'),
    'root:x:0:0::/root:\napp:x:1500:1600::/home/app:\nbad:x:4294967295:0::/:\n',
  );
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\nweb:x:33:\n');
});
afterEach(() => rmSync(root, { recursive: true }));

const ownerOf = (path: string) => {
  const { uid, gid } = statSync(join(root, path));
  return [uid, gid];
};

describe('addWorkdir', () => {
  it.each([
    ['', [0, 0]],
    ['root', [0, 0]],
    ['1000', [1000, 1000]],
    ['1000:1001', [1000, 1001]],
    ['app', [1500, 0]],
    ['app:web', [1500, 33]],
    ['app:7', [1500, 7]],
    ['nobody', [0, 0]],
    ['app:none', [0, 0]],
    ['bad', [0, 0]],
    ['4294967295', [0, 0]],
  ])('gives the folder that it makes to the user %j, and missing parents to root', (user, owner) => {
    addWorkdir(root, { user, workdir: '/srv/app' });
    expect(ownerOf('srv')).toEqual([0, 0]);
    expect(ownerOf('srv/app')).toEqual(owner);
    expect(statSync(join(root, 'srv/app')).mode & 0o7777).toBe(0o755);
  });

  it('keeps a folder that the image has', () => {
    mkdirSync(join(root, 'srv'));
    chmodSync(join(root, 'srv'), 0o700);
    addWorkdir(root, { user: 'app', workdir: '/srv' });
    expect(ownerOf('srv')).toEqual([0, 0]);
    expect(statSync(join(root, 'srv')).mode & 0o7777).toBe(0o700);
  });
});
