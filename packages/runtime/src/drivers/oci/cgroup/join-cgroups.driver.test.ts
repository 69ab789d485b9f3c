import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mount } from '../../../kernel/syscalls.ts';
import { isMountPoint } from '../disk/disk.ts';
import { joinCgroups } from './join-cgroups.ts';

let folder: string;
let out: number;
beforeEach(() => {
  folder = mkdtempSync(`${tmpdir()}/join-`);
  out = openSync(`${folder}/out`, 'w');
});
afterEach(() => {
  closeSync(out);
  rmSync(folder, { recursive: true });
});

/** Any file accepts a number. */
const join = (script: string, names = ['one', 'two']) =>
  joinCgroups({
    memberFiles: names.map((name) => `${folder}/${name}`),
    command: ['sh', '-c', script, 'a name', 'and a value'],
  });
const read = (name: string): string => readFileSync(`${folder}/${name}`, 'utf8');

describe('a process that is to become a program in cgroups', () => {
  it('enters all of them, and becomes the program on request, among mounts of its own', async () => {
    const member = join(`echo "$0 $1 $$" >&3; findmnt -n -o FSTYPE ${folder} >&3`);
    await expect.poll(() => read('two')).toBe(`${member.pid}\n`);
    expect(read('one')).toBe(`${member.pid}\n`);
    expect(read('out')).toBe('');
    const prepare = (): void => mount({ source: 'own', target: folder, type: 'tmpfs', flags: 0, data: '' });
    member.become({ fd: out, prepare });
    expect(await member.ended).toBe(0);
    member.close();
    expect(read('out')).toBe(`a name and a value ${member.pid}\ntmpfs\n`);
    expect(isMountPoint(folder)).toBe(false);
  });

  it('does not become the program when one of them refuses it', async () => {
    const member = join('echo here >&3', ['one', 'none/two']);
    expect(await member.ended).not.toBe(0);
    member.become({ fd: out, prepare: () => {} });
    member.close();
    // Receives the signal or status that ended it.
    const others = Array.from({ length: 4 }, (_, index) => openSync(`${folder}/other${index}`, 'w'));
    member.become({ fd: out, prepare: () => expect.fail('called') });
    for (const other of others) closeSync(other);
    for (const index of others.keys()) expect(read(`other${index}`)).toBe('');
    expect(read('out')).toBe('');
  });

  it('ends without having become the program when its pipe closes, as when its parent was killed', async () => {
    const member = join('echo here >&3');
    await expect.poll(() => read('two')).not.toBe('');
    member.close();
    expect(await member.ended).not.toBe(0);
    expect(read('out')).toBe('');
  });
});
