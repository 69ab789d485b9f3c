import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDataFolder } from '../data-folder/data-folder.ts';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { toScratchFolder } from './examine-host.ts';

describe('the folder that a host is examined in', () => {
  it('is on the file system of the data folder, whether that exists, is empty, or is missing', () => {
    const folder = createTemporaryFolder();
    expect(toScratchFolder(join(folder, 'a/b'))).toBe(folder);
    mkdirSync(join(folder, 'a'));
    expect(toScratchFolder(join(folder, 'a'))).toBe(join(folder, 'a'));
    expect(toScratchFolder(openDataFolder(join(folder, 'a')))).toBe(join(folder, 'a/run'));
  });
});
