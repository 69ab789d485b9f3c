import { chmodSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Makes the file that stands for the kernel's boot id. As that, it is for everybody inside to read, whatever mask this process
 * has: CRIU opens a file again only with the very mode that it had.
 */
export const writeBootId = (path: string, text: string): void => {
  rmSync(path, { force: true });
  writeFileSync(path, text, { flag: 'wx' });
  chmodSync(path, 0o444);
};
