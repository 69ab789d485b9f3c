import { open } from 'node:fs/promises';

/** Resolves when the file, or the entries of the folder, are on the medium: fsync(2). */
export const syncPath = async (path: string): Promise<void> => {
  await using handle = await open(path, 'r');
  await handle.sync();
};
