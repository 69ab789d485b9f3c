import { openUserNamespace } from '../../kernel/user-namespace.ts';
import { toBaseUid } from '../../network/slots.ts';
import { openCgroup, readCgroupLayout } from './cgroup/cgroup.ts';
import { toCgroupParent } from './cgroup/cgroup-parent.ts';
import { createExpectJoin } from './cgroup/workarounds/expect-join.ts';
import { createImageDisks } from './disk/image-disks.ts';
import type { HostBackend } from './host-backend.ts';

/** Of root: each sandbox has a range of ids, cgroups and a bounded disk of its own. */
export const createRootBackend = ({ dataDir }: { dataDir: string }): HostBackend => {
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
    prepareCgroup: async () => [],
    surroundings: {},
    limits: { cpu: true, memory: true, disk: true, processes: true },
  };
};
