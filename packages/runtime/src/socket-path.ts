import { constants, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

/**
 * Returns a short name of a unix socket, valid until `close` is called: the kernel accepts at most 107 bytes (unix(7)), and
 * the path of a data folder may be longer.
 */
export async function openSocketPath(path: string): Promise<{ path: string; close: () => Promise<void> }> {
  const folder = await open(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${folder.fd}/${basename(path)}`, close: () => folder.close() };
}
