import { openLimitedUserNamespace } from '../../kernel/user-namespace.ts';
import type { Surroundings } from '../../network/rules.ts';
import { rootlessBaseId } from '../../rootless/namespace.ts';
import { readControllers, unifiedRoot } from '../../rootless/unified-groups.ts';
import { uplinkResolver } from '../../rootless/uplink.ts';
import { copyFolderImage } from '../folder-image.ts';
import { type Cgroup, openCgroup, readDelegatedLayout } from './cgroup/cgroup.ts';
import { toCgroupParent } from './cgroup/cgroup-parent.ts';
import { makeCgroup } from './cgroup/make-cgroup.ts';
import { createExpectJoin } from './cgroup/workarounds/expect-join.ts';
import { openProcessGroup, pinUserNamespace } from './container/process-group.ts';
import { createFolderDisks } from './disk/folder-disks.ts';
import { createFolderRoots } from './disk/roots.ts';
import type { HostBackend, RootlessOptions } from './host-backend.ts';

/**
 * The backend of an ordinary user in a rootless namespace. All sandboxes of the user have the same range of ids, each
 * in a user namespace of its own: most hosts assign one range to a user.
 */
export const createRootlessBackend = ({
  dataDir,
  rootless,
}: {
  dataDir: string;
  rootless: RootlessOptions;
}): HostBackend => {
  const delegated =
    rootless.cgroupFolder === undefined ? undefined : openDelegated(dataDir, rootless.cgroupFolder);
  return {
    toBaseId: () => rootlessBaseId,
    // All ids here are the user's own.
    readForeignIds: async () => [],
    openUserNamespace: async ({ spec, slot }) => {
      const namespace = await openLimitedUserNamespace({
        baseId: rootlessBaseId,
        // A separate owner for each sandbox: the kernel counts processes and inotify instances of a namespace for its owner.
        owner: rootlessBaseId + slot,
        processCount: spec.limits.processCount,
      });
      if (!delegated) await pinUserNamespace(dataDir, spec.id, namespace);
      return namespace;
    },
    shiftsImages: false,
    disks: createFolderDisks(),
    roots: createFolderRoots(),
    writeImage: copyFolderImage,
    capturesDisks: false,
    ...(delegated ?? {
      cgroups: { version: 2, hybrid: false, trees: [], limitsSwap: false },
      cgroupParent: '',
      cgroup: (id) => openProcessGroup(dataDir, id),
      expectJoin: () => undefined,
      prepareCgroup: async () => [],
      limits: { cpu: false, memory: false, disk: false, processes: true },
    }),
    makesCgroups: false,
    surroundings: toSurroundings(rootless),
  };
};

type GroupBackend = Pick<
  HostBackend,
  'cgroups' | 'cgroupParent' | 'cgroup' | 'expectJoin' | 'prepareCgroup' | 'limits'
>;

/** The backend's cgroups below the one that the user's service manager has delegated. */
const openDelegated = (dataDir: string, folder: string): GroupBackend => {
  const layout = readDelegatedLayout(folder);
  const parent = toCgroupParent(dataDir);
  const open = (id: string): Cgroup => openCgroup(layout, parent, id);
  return {
    cgroups: layout,
    cgroupParent: parent,
    cgroup: open,
    expectJoin: createExpectJoin({ ...layout, trees: [unifiedRoot] }),
    prepareCgroup: (id, limits) => makeCgroup(layout, open(id).path, limits),
    limits: { cpu: readControllers(folder).includes('cpu'), memory: true, disk: false, processes: true },
  };
};

/** What differs around sandboxes in a rootless namespace; nothing for root of the host. */
export const toSurroundings = (rootless: RootlessOptions | undefined): Partial<Surroundings> =>
  rootless ? { resolvers: [uplinkResolver], closedAddresses: rootless.hostAddresses } : {};
