import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nameCopy } from './name-copy.ts';

let disk: string;
let etc: string;
beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'name-copy-'));
  etc = join(disk, 'upper/etc');
  await mkdir(etc, { recursive: true });
});
afterEach(() => rm(disk, { recursive: true }));

const read = (name: string): Promise<string> => readFile(join(etc, name), 'latin1');
const write = (name: string, text: string): Promise<void> => writeFile(join(etc, name), text, 'latin1');

describe('nameCopy', () => {
  it('replaces the old name by the new one, in the same files', async () => {
    const hosts = '127.0.0.1 localhost\n127.0.1.1 source\n10.0.0.1 db caf\xe9\n';
    await Promise.all([write('hostname', 'source\n'), write('hosts', hosts)]);
    const { ino } = await stat(join(etc, 'hosts'));
    nameCopy({ disk, hostname: 'a' });
    expect(await read('hostname')).toBe('a\n');
    expect(await read('hosts')).toBe(hosts.replace('source', 'a'));
    expect((await stat(join(etc, 'hosts'))).ino).toBe(ino);
    nameCopy({ disk, hostname: 'longer-than-before' });
    expect(await read('hosts')).toBe(hosts.replace('source', 'longer-than-before'));
  });

  it('keeps other lines that were added to hosts', async () => {
    const hosts = '127.0.1.1 source alias\n127.0.1.1\tother\n';
    await write('hosts', hosts);
    nameCopy({ disk, hostname: 'copy' });
    expect(await read('hosts')).toBe(hosts);
    await expect(read('hostname')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('follows no link, waits for no pipe and opens no folder', async () => {
    const outside = join(disk, 'outside');
    await writeFile(outside, 'untouched');
    await symlink(outside, join(etc, 'hostname'));
    execFileSync('mkfifo', [join(etc, 'hosts')]);
    nameCopy({ disk, hostname: 'copy' });
    expect(await readFile(outside, 'utf8')).toBe('untouched');
    await rm(join(etc, 'hostname'));
    await mkdir(join(etc, 'hostname'));
    nameCopy({ disk, hostname: 'copy' });
    await rm(etc, { recursive: true });
    await mkdir(join(disk, 'elsewhere'));
    await writeFile(join(disk, 'elsewhere/hostname'), 'untouched');
    await symlink(join(disk, 'elsewhere'), etc);
    nameCopy({ disk, hostname: 'copy' });
    expect(await readFile(join(disk, 'elsewhere/hostname'), 'utf8')).toBe('untouched');
  });

  it('does not read a large file', async () => {
    await write('hostname', 'x'.repeat(100_000));
    nameCopy({ disk, hostname: 'copy' });
    expect((await read('hostname')).length).toBe(100_000);
  });
});
