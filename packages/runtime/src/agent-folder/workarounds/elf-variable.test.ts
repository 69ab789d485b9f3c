import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommand } from '../../kernel/run-command.ts';
import { replaceVariable } from './elf-variable.ts';

/** The variable of Node that is changed for the agent. */
const symbol = '_ZN4absl12_GLOBAL__N_124synch_deadlock_detectionE';

let dir: string;
let program: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'elf-variable-'));
  program = join(dir, 'node');
  await copyFile(process.execPath, program);
});
afterEach(() => rm(dir, { recursive: true }));

const differences = async (): Promise<number> => {
  const [before, after] = await Promise.all([readFile(process.execPath), readFile(program)]);
  expect(after.length).toBe(before.length);
  let count = 0;
  for (let at = 0; at < before.length; at += 4096) {
    const [one, other] = [before.subarray(at, at + 4096), after.subarray(at, at + 4096)];
    if (!one.equals(other)) count += one.filter((byte, index) => byte !== other[index]).length;
  }
  return count;
};

describe('a variable of a program', () => {
  it('gets another start value, in its own bytes only, and the program runs', async () => {
    expect(await replaceVariable(program, { symbol, from: 2, to: 0 })).toBe(true);
    expect(await differences()).toBe(1);
    expect(await runCommand({ file: program, args: ['-p', '6 * 7'] })).toBe('42\n');
  });

  it('stays unchanged when it starts with another value than expected', async () => {
    expect(await replaceVariable(program, { symbol, from: 3, to: 0 })).toBe(false);
    expect(await differences()).toBe(0);
  });

  it('is not found in a program without that symbol, or in a stripped one', async () => {
    expect(await replaceVariable(program, { symbol: 'deadlock_detectionE', from: 2, to: 0 })).toBe(false);
    expect(await differences()).toBe(0);
    const stripped = join(dir, 'echo');
    await copyFile('/bin/echo', stripped);
    expect(await replaceVariable(stripped, { symbol, from: 2, to: 0 })).toBe(false);
    expect(await readFile(stripped)).toEqual(await readFile('/bin/echo'));
  });
});
