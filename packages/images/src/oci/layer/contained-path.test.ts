import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { containedPath } from './contained-path.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skerry-contained-path-'));
  mkdirSync(join(root, 'usr/lib'), { recursive: true });
  symlinkSync('usr/lib', join(root, 'lib'));
  symlinkSync('/usr', join(root, 'absolute'));
  symlinkSync('../../../../../../usr', join(root, 'climbing'));
  symlinkSync('loop', join(root, 'loop'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe('containedPath', () => {
  it.each([
    ['lib/x.so', 'usr/lib/x.so'],
    ['absolute/lib/x.so', 'usr/lib/x.so'],
    ['climbing/lib', 'usr/lib'],
    ['/etc/passwd', 'etc/passwd'],
    ['../../etc/passwd', 'etc/passwd'],
    ['lib/../../../etc', 'etc'],
    ['./usr//lib/', 'usr/lib'],
  ])('finds %s at %s of the image', (name, path) => {
    expect(containedPath(root, name)).toBe(join(root, path));
  });

  it('follows the last component only when asked', () => {
    expect(containedPath(root, 'lib')).toBe(join(root, 'lib'));
    expect(containedPath(root, 'lib', { followLast: true })).toBe(join(root, 'usr/lib'));
  });

  it('resolves the empty name and the dot to the root', () => {
    expect(containedPath(root, './')).toBe(root);
  });

  it('rejects a loop', () => {
    expect(() => containedPath(root, 'loop/x')).toThrow(expect.objectContaining({ code: 'unsafe' }));
  });
});
