import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mount, unmountEvery } from '../../../kernel/syscalls.ts';
import { nameCopy } from '../snapshots/name-copy.ts';

const PAGE_BYTES = 4096;

let disk: string;
let etc: string;
beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'full-disk-'));
  etc = join(disk, 'upper/etc');
  mount({ source: 'none', target: disk, type: 'tmpfs', flags: 0, data: `size=${16 * PAGE_BYTES}` });
  await mkdir(etc, { recursive: true });
});
afterEach(async () => {
  unmountEvery(disk);
  await rm(disk, { recursive: true });
});

const fill = async (): Promise<void> => {
  const filled = writeFile(join(disk, 'filler'), Buffer.alloc(17 * PAGE_BYTES));
  await expect(filled).rejects.toMatchObject({ code: 'ENOSPC' });
};
const read = (name: string): Promise<string> => readFile(join(etc, name), 'latin1');

describe('a copied disk that is full', () => {
  it('keeps the old names where there is no room for new ones', async () => {
    // Make one file with a hole where the name would be, and one of a whole page, which a longer name would
    // make longer.
    await writeFile(join(etc, 'hostname'), '');
    await truncate(join(etc, 'hostname'), 100);
    const line = '127.0.1.1 source\n';
    const hosts = `${line}${'#'.repeat(PAGE_BYTES - line.length - 1)}\n`;
    await writeFile(join(etc, 'hosts'), hosts);
    await fill();
    nameCopy({ disk, hostname: 'longer-than-before' });
    expect(await read('hosts')).toBe(hosts);
    expect(await read('hostname')).toBe('\0'.repeat(100));
    nameCopy({ disk, hostname: 'short' });
    expect(await read('hosts')).toBe(hosts.replace('source', 'short'));
  });
});
