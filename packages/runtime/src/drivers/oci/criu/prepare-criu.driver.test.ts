import {
  appendFile,
  chmod,
  chown,
  copyFile,
  cp,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeCriu, prepareCriu, toCriuCommand } from './prepare-criu.ts';

/** A program that every host has replaces CRIU where only the preparation is tested. */
const stranger = '/bin/cat';

let targetDir: string;
beforeEach(async () => {
  targetDir = await mkdtemp(join(tmpdir(), 'prepare-criu-'));
});
afterEach(() => rm(targetDir, { recursive: true, force: true }));

describe('preparing a CRIU of the host', () => {
  it('copies the program with its loader and libraries, unchanged where its code is not as expected', async () => {
    const dir = await prepareCriu({ targetDir, program: stranger });
    expect(await readFile(join(dir, 'criu'))).toEqual(await readFile(stranger));
    expect(await readdir(join(dir, 'lib'))).toEqual(expect.arrayContaining(['ld.so', 'libc.so.6']));
    expect(toCriuCommand(dir, 'criu')).toEqual([
      `${dir}/lib/ld.so`,
      '--library-path',
      `${dir}/lib`,
      `${dir}/criu`,
    ]);
    expect(await describeCriu(dir)).toBe(
      'CRIU of unknown version is run unchanged, as root, since its code is not as expected, slower with files in memory, which it compresses, slower, as it reads all tracked connections',
    );
  });

  it('changes a program with the expected code, and reports it', async () => {
    const program = join(targetDir, 'own');
    await copyFile(stranger, program);
    const asks = Buffer.from([20, 0, 0, 0, 1, 1, 1, 3]);
    await writeFile(program, Buffer.concat([asks, Buffer.from('\0--gzip\0geteuid\0')]), { flag: 'a' });
    const dir = await prepareCriu({ targetDir, program });
    const ends = await Promise.all(
      ['criu', 'criu-plain'].map(async (name) => String((await readFile(join(dir, name))).subarray(-16))),
    );
    expect(ends).toEqual(['\0--gzip\0getegid\0', '\0--seek\0getegid\0']);
    expect(await describeCriu(dir)).toMatch(
      /changed to run as the owner .* changed to compress nothing, changed to skip tracked connections$/,
    );
  });

  it('makes the folder of a program once, and another one for another program', async () => {
    const program = join(targetDir, 'own');
    await copyFile(stranger, program);
    const dirs = await Promise.all([1, 2].map(() => prepareCriu({ targetDir, program })));
    await copyFile('/bin/ls', program);
    dirs.push(await prepareCriu({ targetDir, program }));
    expect(new Set(dirs).size).toBe(2);
    expect((await readdir(targetDir)).length).toBe(3);
  });

  it('copies the libraries beside a program that was prepared before', async () => {
    const first = await prepareCriu({ targetDir, program: stranger });
    const moved = join(targetDir, 'moved');
    await cp(first, moved, { recursive: true });
    await rm(first, { recursive: true });
    const dir = await prepareCriu({ targetDir, program: join(moved, 'criu') });
    expect(await readdir(join(dir, 'lib'))).toEqual(await readdir(join(moved, 'lib')));
  });

  it('refuses a program that was altered after it was made, and one of another user', async () => {
    const program = join(targetDir, 'own');
    await copyFile(stranger, program);
    const dir = await prepareCriu({ targetDir, program });
    await appendFile(join(dir, 'criu'), ' ');
    await expect(prepareCriu({ targetDir, program })).rejects.toMatchObject({ code: 'damaged' });
    await chown(join(dir, 'criu'), 1000, 1000);
    await expect(prepareCriu({ targetDir, program })).rejects.toThrow('criu belongs to user 1000');
    await rm(dir, { recursive: true });
    await chown(program, 1000, 1000);
    await expect(prepareCriu({ targetDir, program })).rejects.toThrow(`${program} belongs to user 1000`);
    await chown(program, 0, 0);
    await chmod(targetDir, 0o777);
    await expect(prepareCriu({ targetDir, program })).rejects.toThrow(
      `${targetDir} may be written by every user`,
    );
  });

  it.each([
    ['is not there', '/nowhere/criu'],
    ['is no program', '/etc/passwd'],
  ])('refuses a path that %s, with the reason', async (_, program) => {
    const refusal = await prepareCriu({ targetDir, program }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'unsupported', message: `${program} cannot be used as CRIU` });
    expect((refusal as Error).cause).toBeDefined();
    expect(await readdir(targetDir)).toEqual([]);
  });
});
