import { openSync, writeFileSync } from 'node:fs';
import { createNamespaceMaker } from './namespace-maker.ts';

/** How many ids a sandbox has: 0 to 65,535 inside are `baseId` and up on the host, and belong to nothing else. */
export const ID_COUNT = 65_536;

/**
 * Resolves with a descriptor of a new user namespace whose root is `baseId` outside. The caller closes it.
 *
 * The namespace belongs to `baseId`. The kernel counts inotify instances and the like for the owner of a namespace,
 * too: if that were root, one sandbox could use up those of the host and of all other sandboxes.
 */
export const openUserNamespace = (baseId: number): Promise<number> =>
  openNamespace({ owner: baseId, map: `0 ${baseId} ${ID_COUNT}` });

/**
 * As `openUserNamespace`, where several have the same ids: the kernel counts for another `owner`, who has no part in it,
 * and lets no more than `processCount` processes and threads be in it (Linux 5.14).
 */
export const openLimitedUserNamespace = (options: {
  baseId: number;
  owner: number;
  processCount: number;
}): Promise<number> =>
  openNamespace({
    owner: options.owner,
    map: `0 ${options.baseId} ${ID_COUNT}`,
    processCount: options.processCount,
  });

/**
 * Resolves with a descriptor of a user namespace that no process is ever in: a mount that is mapped by it shows what
 * the range at `fromId` owns as owned by the range at `toId`, and what the host's root owns as it is. The caller
 * closes it.
 */
export const openShift = ({ fromId, toId }: { fromId: number; toId: number }): Promise<number> =>
  openNamespace({ map: `0 0 1\n${fromId} ${toId} ${ID_COUNT}` });

/** As `openShift`, of what the ids 0 to 65,535 own, as in an image. */
export const openImageShift = (toId: number): Promise<number> =>
  openNamespace({ map: `0 ${toId} ${ID_COUNT}` });

const maker = createNamespaceMaker();

/** A namespace lives as long as a descriptor of it; only making one takes a process, which is ended again here. */
const openNamespace = async (options: {
  owner?: number;
  map: string;
  processCount?: number;
}): Promise<number> => {
  const { owner, map, processCount } = options;
  const pid = await maker.make({ owner, processCount });
  try {
    for (const file of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${file}`, map);
    return openSync(`/proc/${pid}/ns/user`, 'r');
  } finally {
    maker.end(pid);
  }
};
