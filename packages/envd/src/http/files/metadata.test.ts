import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { setAttribute } from '../../system/xattr.ts';
import { parseMetadata, readMetadata, replaceMetadata } from './metadata.ts';

const openFile = (): number => {
  const dir = mkdtempSync(join(tmpdir(), 'metadata-'));
  const fd = openSync(join(dir, 'file'), 'w');
  onTestFinished(() => {
    closeSync(fd);
    rmSync(dir, { recursive: true });
  });
  return fd;
};

describe('metadata keys that every object of JavaScript seems to have', () => {
  it('are kept when they are sent and removed when they are not', () => {
    const fd = openFile();
    const sent = parseMetadata({ 'x-metadata-constructor': 'a', 'x-metadata-tostring': 'b', host: 'x' });
    expect(replaceMetadata(fd, sent)).toEqual({ constructor: 'a', tostring: 'b' });
    expect(readMetadata(fd)).toEqual({ constructor: 'a', tostring: 'b' });
    replaceMetadata(fd, parseMetadata({ 'x-metadata-other': 'c' }));
    expect(Object.entries(readMetadata(fd))).toEqual([['other', 'c']]);
  });

  it('are refused where JSON decoders would lose them, instead of dropped in silence', () => {
    expect(() => parseMetadata({ 'x-metadata-__proto__': 'a' })).toThrow(
      'header x-metadata-__proto__: the metadata key must not be __proto__',
    );
  });

  it('are read as they stand on the file when a program inside has set them', () => {
    const fd = openFile();
    setAttribute(fd, 'user.e2b.__proto__', 'a');
    expect(Object.entries(readMetadata(fd))).toEqual([['__proto__', 'a']]);
  });
});
