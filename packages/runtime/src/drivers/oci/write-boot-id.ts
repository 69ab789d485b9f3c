import { chmod, rm, writeFile } from 'node:fs/promises';

/**
 * Makes the file that stands for the kernel's boot id. As that, it is for everybody inside to read, whatever mask this process
 * has: CRIU opens a file again only with the very mode that it had.
 */
export const writeBootId = async (path: string, text: string): Promise<void> => {
  await rm(path, { force: true });
  await writeFile(path, text, { flag: 'wx' });
  await chmod(path, 0o444);
};
