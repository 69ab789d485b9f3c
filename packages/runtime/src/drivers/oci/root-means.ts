import { toBaseUid } from '../../slots.ts';
import { openCgroup, readCgroupLayout } from './cgroup.ts';
import { toCgroupParent } from './cgroup-parent.ts';
import { createExpectJoin } from './expect-join.ts';
import { createImageDisks } from './image-disks.ts';
import type { Means } from './means.ts';
import { openUserNamespace } from './user-namespace.ts';

/** Of root: each sandbox has a range of ids, cgroups and a bounded disk of its own. */
export const createRootMeans = ({ dataDir }: { dataDir: string }): Means => {
  const cgroups = readCgroupLayout();
  const cgroupParent = toCgroupParent(dataDir);
  return {
    toBaseId: toBaseUid,
    openUserNamespace: ({ slot }) => openUserNamespace(toBaseUid(slot)),
    shiftsImages: true,
    disks: createImageDisks(`${dataDir}/run`),
    capturesDisks: true,
    cgroups,
    cgroupParent,
    cgroup: (id) => openCgroup(cgroups, cgroupParent, id),
    expectJoin: createExpectJoin(cgroups),
    makesCgroups: true,
    surroundings: {},
    limits: { cpu: true, memory: true, disk: true, processes: true },
  };
};
