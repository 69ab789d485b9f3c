import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTemporaryFolder } from '../testing/temporary-folder.ts';
import { openStore, parseDatabase, readDatabaseFile } from './database.ts';

it('refuses a password in an argument, and repeats it in no message', () => {
  const url = 'postgres://me@db:5432/name';
  expect(parseDatabase(url)).toBe(url);
  const refused = [
    'postgres://me:hidden@db/name',
    'postgres://db/name?password=hidden',
    'hidden',
    'http://hidden/x',
  ];
  for (const text of refused) expect(() => parseDatabase(text)).toThrow(/^(?!.*hidden).+$/s);
});

it('reads a URL with a password from a file that only its owner may read', () => {
  const path = join(createTemporaryFolder(), 'url');
  writeFileSync(path, 'postgres://me:hidden@db/name\n', { mode: 0o600 });
  expect(readDatabaseFile(path)).toBe('postgres://me:hidden@db/name');
  chmodSync(path, 0o644);
  expect(() => readDatabaseFile(path)).toThrow(/chmod 600/);
});

it('refuses a data folder whose state is in the other database', async () => {
  const folder = createTemporaryFolder();
  writeFileSync(join(folder, 'postgres'), '');
  await expect(openStore(folder, undefined, { secret: 'secret' })).rejects.toThrow(/name it by --database/);
  writeFileSync(join(folder, 'skerry.db'), '');
  await expect(openStore(folder, 'postgres://db/name', { secret: 'secret' })).rejects.toThrow(
    /choose another data folder/,
  );
});
