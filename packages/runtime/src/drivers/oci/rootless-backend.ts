import { openLimitedUserNamespace } from '../../kernel/user-namespace.ts';
import type { Surroundings } from '../../network/rules.ts';
import { groundBaseId } from '../../rootless/ground.ts';
import { readControllers, unifiedRoot } from '../../rootless/unified-groups.ts';
import { uplinkResolver } from '../../rootless/uplink.ts';
import { type Cgroup, openCgroup, readDelegatedLayout } from './cgroup/cgroup.ts';
import { toCgroupParent } from './cgroup/cgroup-parent.ts';
import { makeCgroup } from './cgroup/make-cgroup.ts';
import { createExpectJoin } from './cgroup/workarounds/expect-join.ts';
import { openProcessGroup, pinUserNamespace } from './container/process-group.ts';
import { createFolderDisks } from './disk/folder-disks.ts';
import type { GroundOptions, HostBackend } from './host-backend.ts';

/**
 * Of an ordinary user in his ground. All his sandboxes have the same range of ids, each in a user namespace of its own:
 * most hosts give a user no more than one.
 */
export const createRootlessBackend = ({
  dataDir,
  ground,
}: {
  dataDir: string;
  ground: GroundOptions;
}): HostBackend => {
  const delegated =
    ground.cgroupFolder === undefined ? undefined : openDelegated(dataDir, ground.cgroupFolder);
  return {
    toBaseId: () => groundBaseId,
    openUserNamespace: async ({ spec, slot }) => {
      const namespace = await openLimitedUserNamespace({
        baseId: groundBaseId,
        // One for each sandbox: the kernel counts the processes of a namespace for its owner.
        owner: groundBaseId + slot,
        processCount: spec.limits.processCount,
      });
      if (!delegated) await pinUserNamespace(dataDir, spec.id, namespace);
      return namespace;
    },
    shiftsImages: false,
    disks: createFolderDisks(),
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
    surroundings: toSurroundings(ground),
  };
};

type GroupBackend = Pick<
  HostBackend,
  'cgroups' | 'cgroupParent' | 'cgroup' | 'expectJoin' | 'prepareCgroup' | 'limits'
>;

/** By the cgroup that the user's service manager has handed over. */
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

/** What differs around sandboxes in a ground; nothing for root of the host, who has none. */
export const toSurroundings = (ground: GroundOptions | undefined): Partial<Surroundings> =>
  ground ? { resolvers: [uplinkResolver], closedAddresses: ground.hostAddresses } : {};
