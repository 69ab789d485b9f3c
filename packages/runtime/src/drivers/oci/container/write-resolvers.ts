import { closeSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { isDiskFull } from '../../../kernel/is-disk-full.ts';
import { toResolvConf } from '../../../network/resolvers.ts';
import { openPlainFolder } from '../snapshots/open-plain-folder.ts';

/**
 * Makes /etc/resolv.conf of the disk that is mounted at `disk` anew, with the servers through which names are looked up. Does nothing where whoever was inside has made
 * something else of /etc: on its disk, a link would lead to a file of the host. Leaves the file empty or away where there is
 * no room on that disk: what it lets inside reach is not decided there.
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
    // Removes a link, and does not follow it.
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
