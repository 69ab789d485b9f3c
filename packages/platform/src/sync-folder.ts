import { open } from 'node:fs/promises';

/** Resolves when the names in a folder are on disk, as after a rename. */
export const syncFolder = async (path: string): Promise<void> => {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};
