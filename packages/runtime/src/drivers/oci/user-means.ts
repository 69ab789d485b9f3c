import { openLimitedUserNamespace } from '../../kernel/user-namespace.ts';
import type { Surroundings } from '../../network/rules.ts';
import { groundBaseId } from '../../rootless/ground.ts';
import { uplinkResolver } from '../../rootless/uplink.ts';
import { openProcessGroup, pinUserNamespace } from './container/process-group.ts';
import { createFolderDisks } from './disk/folder-disks.ts';
import type { GroundOptions, Means } from './means.ts';

/**
 * Of an ordinary user in his ground. All his sandboxes have the same range of ids, each in a user namespace of its own:
 * most hosts give a user no more than one.
 */
export const createUserMeans = ({ dataDir, ground }: { dataDir: string; ground: GroundOptions }): Means => {
  return {
    toBaseId: () => groundBaseId,
    openUserNamespace: async ({ spec, slot }) => {
      const namespace = await openLimitedUserNamespace({
        baseId: groundBaseId,
        // One for each sandbox: the kernel counts the processes of a namespace for its owner.
        owner: groundBaseId + slot,
        processCount: spec.limits.processCount,
      });
      await pinUserNamespace(dataDir, spec.id, namespace);
      return namespace;
    },
    shiftsImages: false,
    disks: createFolderDisks(),
    capturesDisks: false,
    cgroups: { version: 2, hybrid: false, trees: [], limitsSwap: false },
    cgroupParent: '',
    cgroup: (id) => openProcessGroup(dataDir, id),
    expectJoin: () => undefined,
    makesCgroups: false,
    surroundings: toSurroundings(ground),
    limits: { cpu: false, memory: false, disk: false, processes: true },
  };
};

/** What differs around sandboxes in a ground; nothing for root of the host, who has none. */
export const toSurroundings = (ground: GroundOptions | undefined): Partial<Surroundings> =>
  ground ? { resolvers: [uplinkResolver], closedAddresses: ground.hostAddresses } : {};
