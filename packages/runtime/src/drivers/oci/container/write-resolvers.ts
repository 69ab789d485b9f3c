import { closeSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { isDiskFull } from '../../../kernel/is-disk-full.ts';
import { toResolvConf } from '../../../network/resolvers.ts';
import { openPlainFolder } from '../snapshots/open-plain-folder.ts';

/**
 * Replaces /etc/resolv.conf on the disk that is mounted at `disk`, with these name servers. Does nothing where code
 * inside has replaced /etc by something else than a folder: a link would lead to a file of the host. Leaves the file
 * empty or missing where that disk has no room: access to the network does not depend on it.
 */
export const writeResolvers = async (options: {
  disk: string;
  baseId: number;
  servers: readonly string[];
}): Promise<void> => {
  const { disk, baseId, servers } = options;
  const etc = openPlainFolder(`${disk}/upper/etc`);
  if (etc === undefined) return;
  try {
    const path = `/proc/self/fd/${etc}/resolv.conf`;
    // Removes a link without following it.
    await rm(path, { recursive: true, force: true });
    await using file = await open(path, 'wx', 0o644);
    await file.chmod(0o644);
    await file.chown(baseId, baseId);
    await file.writeFile(toResolvConf(servers));
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  } finally {
    closeSync(etc);
  }
};
