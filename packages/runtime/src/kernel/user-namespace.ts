import { openSync, writeFileSync } from 'node:fs';
import { createNamespaceMaker } from './namespace-maker.ts';

/**
 * The number of ids of a sandbox: 0 to 65,535 inside are `baseId` and up on the host, and no other sandbox has them.
 */
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
 * Opens a user namespace for one of several sandboxes with the same ids: the kernel counts resources for
 * another `owner`, which has no process in it, and limits it to `processCount` processes and threads (Linux
 * 5.14). Otherwise as `openUserNamespace` does.
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
 * Resolves with a descriptor of a user namespace that no process is ever in. A mount with its id map shows files of the
 * range at `fromId` as owned by the range at `toId`, and files of the host's root unchanged. The caller closes it.
 */
export const openShift = ({ fromId, toId }: { fromId: number; toId: number }): Promise<number> =>
  openNamespace({ map: `0 0 1\n${fromId} ${toId} ${ID_COUNT}` });

/** Opens a shift for files of the ids 0 to 65,535, which images have; see `openShift`. */
export const openImageShift = (toId: number): Promise<number> =>
  openNamespace({ map: `0 ${toId} ${ID_COUNT}` });

/**
 * Opens a shift for the files of a sandbox, which appear with the ids that they have inside; see `openShift`.
 */
export const openUnshift = (fromId: number): Promise<number> =>
  openNamespace({ map: `${fromId} 0 ${ID_COUNT}` });

const maker = createNamespaceMaker();

/** A namespace lives as long as a descriptor of it; a process is only needed to make one, and ends here. */
const openNamespace = async (options: {
  owner?: number;
  map: string;
  processCount?: number;
}): Promise<number> => {
  const { map, ...limits } = options;
  const pid = await maker.make(limits);
  try {
    for (const file of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${file}`, map);
    return openSync(`/proc/${pid}/ns/user`, 'r');
  } finally {
    maker.end(pid);
  }
};
