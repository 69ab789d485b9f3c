import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { shiftOwners } from './shift-owners.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skerry-shift-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const owners = (name: string): [number, number] => {
  const { uid, gid } = lstatSync(join(root, name));
  return [uid, gid];
};

describe('shiftOwners', () => {
  it('shifts each entry once, of any kind and with any number of names', async () => {
    mkdirSync(join(root, 'folder'));
    writeFileSync(join(root, 'folder/file'), 'text');
    linkSync(join(root, 'folder/file'), join(root, 'second'));
    chownSync(join(root, 'second'), 1000, 42);
    symlinkSync('/etc/passwd', join(root, 'link'));
    const passwd = lstatSync('/etc/passwd').uid;
    await shiftOwners(root, { by: 3 });
    expect(owners('.')).toEqual([3, 3]);
    expect(owners('folder')).toEqual([3, 3]);
    expect(owners('second')).toEqual([1003, 45]);
    expect(owners('link')).toEqual([3, 3]);
    expect(readlinkSync(join(root, 'link'))).toBe('/etc/passwd');
    expect(lstatSync('/etc/passwd').uid).toBe(passwd);
  });

  it('keeps setuid programs', async () => {
    const program = join(root, 'sudo');
    writeFileSync(program, '#!', { mode: 0o755 });
    chmodSync(program, 0o4755);
    await shiftOwners(root, { by: 1 });
    expect(lstatSync(program)).toMatchObject({ uid: 1, mode: 0o104755 });
  });
});
