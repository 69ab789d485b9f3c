import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFolder } from './sync-folder.ts';

const readIfThere = async (path: string): Promise<string | undefined> => {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/**
 * The text of a file that is created once: complete, mode 0600 and on disk before this resolves. If several callers
 * run at the same time, one writes, and all return the same text. Rejects when the file exists but is empty.
 */
export const ensureSecretFile = async (path: string, makeText: () => string): Promise<string> => {
  const known = await readIfThere(path);
  if (known === '') throw new Error(`${path} is empty: restore it, or remove it to get a new one`);
  if (known !== undefined) return known;

  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${makeText()}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    // link, unlike rename, does not replace a file that another caller created meanwhile.
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(dirname(path));
  return ensureSecretFile(path, makeText);
};
