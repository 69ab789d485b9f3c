import { chmodSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Makes the file that is mounted over the kernel's boot id. Every user inside may read it, regardless of the umask of
 * this process: CRIU opens a file again only with the very mode that it had.
 */
export const writeBootId = (path: string, text: string): void => {
  rmSync(path, { force: true });
  writeFileSync(path, text, { flag: 'wx' });
  chmodSync(path, 0o444);
};
