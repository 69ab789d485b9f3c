import { constants, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

/**
 * Another name of a unix socket for as long as `close` has not been called: the kernel takes at most 107 bytes
 * (unix(7)), and a data folder may lie deeper than that.
 */
export async function openSocketPath(path: string): Promise<{ path: string; close: () => Promise<void> }> {
  const folder = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${folder.fd}/${basename(path)}`, close: () => folder.close() };
}
