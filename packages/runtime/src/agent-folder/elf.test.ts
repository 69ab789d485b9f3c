import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readInterpreter } from './elf.ts';
import { replaceInterpreter } from './workarounds/replace-interpreter.ts';

let dir: string;
const loader = `/tmp/l${process.pid}.so`;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'elf-'));
});
afterEach(() => rm(dir, { recursive: true }));

describe('the loader of a program', () => {
  it('is read and replaced in place, and the program starts with the new one', async () => {
    const original = await readInterpreter('/bin/echo');
    expect(original).toMatch(/^\/lib.*ld-/);
    const program = join(dir, 'echo');
    await copyFile('/bin/echo', program);
    // Copy the host's loader: its path is as short as "/.envd/ld.so", and every machine that runs this test
    // has it.
    await copyFile(original as string, loader);
    try {
      await replaceInterpreter(program, loader);
      expect(await readInterpreter(program)).toBe(loader);
      expect((await promisify(execFile)(program, ['it', 'runs'])).stdout).toBe('it runs\n');
      await rm(loader);
      await expect(promisify(execFile)(program, ['it'])).rejects.toMatchObject({ code: 'ENOENT' });
    } finally {
      await rm(loader, { force: true });
    }
    const [before, after] = await Promise.all([readFile('/bin/echo'), readFile(program)]);
    expect(after.length).toBe(before.length);
    expect(before.filter((byte, at) => byte !== after[at]).length).toBeLessThan(40);
  });

  it('is refused when it is longer than the old one, and the program stays unchanged', async () => {
    const program = join(dir, 'echo');
    await copyFile('/bin/echo', program);
    await expect(replaceInterpreter(program, `/${'x'.repeat(60)}`)).rejects.toMatchObject({
      code: 'unsupported',
    });
    expect(await readFile(program)).toEqual(await readFile('/bin/echo'));
  });

  it('is refused for a file that is not a program', async () => {
    const file = join(dir, 'text');
    for (const content of ['', '#!/bin/sh\n', 'x'.repeat(200)]) {
      await writeFile(file, content);
      await expect(replaceInterpreter(file, '/x')).rejects.toMatchObject({ code: 'unsupported' });
    }
  });
});
