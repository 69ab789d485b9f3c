import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

const readIfThere = async (path: string): Promise<string | undefined> => {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};

/**
 * The text in a file that is made once: whole, mode 0600 and on disk before this resolves. Of several callers at the same
 * time one writes, and all get the same text. Rejects when the file is there but empty.
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
    // link, unlike rename, does not replace what another caller put there meanwhile.
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(dirname(path));
  return ensureSecretFile(path, makeText);
};
