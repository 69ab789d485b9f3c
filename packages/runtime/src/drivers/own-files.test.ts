import { chmod, chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requireOwnFolder, requireOwnProgram, requireOwnTree } from './own-files.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'own-'));
});
afterEach(() => rm(dir, { recursive: true }));

describe('a folder with code', () => {
  it('is taken when it is the own one, also with a group of its own', async () => {
    for (const mode of [0o700, 0o755, 0o775]) {
      await chmod(dir, mode);
      expect(() => requireOwnFolder(dir)).not.toThrow();
    }
  });

  it('is refused when another user owns it, with what mends it', async () => {
    await chown(dir, 1000, 0);
    expect(() => requireOwnFolder(dir)).toThrow(`${dir} belongs to user 1000`);
    expect(() => requireOwnFolder(dir)).toThrow(`chown 0 ${dir}; chmod go-w ${dir}`);
  });

  it('is refused when others may write in it, or a group', async () => {
    await chmod(dir, 0o757);
    expect(() => requireOwnFolder(dir)).toThrow('may be written by every user');
    await chmod(dir, 0o770);
    await chown(dir, 0, 1000);
    expect(() => requireOwnFolder(dir)).toThrow('may be written by group 1000');
  });

  it('is refused for a file or folder deep inside', async () => {
    await mkdir(join(dir, 'lib'));
    await writeFile(join(dir, 'lib/ld.so'), '');
    expect(() => requireOwnTree(dir)).not.toThrow();
    await chown(join(dir, 'lib/ld.so'), 1000, 1000);
    expect(() => requireOwnTree(dir)).toThrow('lib/ld.so belongs to user 1000');
    await chown(join(dir, 'lib/ld.so'), 0, 0);
    await chmod(join(dir, 'lib'), 0o777);
    expect(() => requireOwnTree(dir)).toThrow('lib may be written by every user');
  });
});

it('refuses a program of another user, and one that others may write', async () => {
  const program = join(dir, 'criu');
  await writeFile(program, '', { mode: 0o755 });
  expect(() => requireOwnProgram(program)).not.toThrow();
  await chmod(program, 0o757);
  expect(() => requireOwnProgram(program)).toThrow('may be written by every user');
  await chmod(program, 0o755);
  await chown(program, 1000, 1000);
  expect(() => requireOwnProgram(program)).toThrow('belongs to user 1000');
});
