import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureSecretFile } from './secret-file.ts';

describe('ensureSecretFile', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'skerry-secret-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('returns the same text to concurrent callers, and leaves one file that only the owner can read', async () => {
    const path = join(folder, 'secret');
    let made = 0;
    const texts = await Promise.all(
      Array.from({ length: 10 }, () =>
        ensureSecretFile(path, () => {
          made += 1;
          return `text ${made}`;
        }),
      ),
    );
    expect(new Set(texts).size).toBe(1);
    expect(await ensureSecretFile(path, () => 'another')).toBe(texts[0]);
    expect(await readdir(folder)).toEqual(['secret']);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('rejects an empty file and does not change it', async () => {
    const path = join(folder, 'secret');
    await writeFile(path, '\n');
    await expect(ensureSecretFile(path, () => 'new')).rejects.toThrow('is empty');
    expect((await stat(path)).size).toBe(1);
  });
});
