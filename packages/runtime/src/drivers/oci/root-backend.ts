import { openUserNamespace } from '../../kernel/user-namespace.ts';
import { readForeignIds } from '../../network/foreign-ids.ts';
import { toBaseUid } from '../../network/slots.ts';
import { makeFileSystemImage } from '../file-system-image.ts';
import { openCgroup, readCgroupLayout } from './cgroup/cgroup.ts';
import { toCgroupParent } from './cgroup/cgroup-parent.ts';
import { createExpectJoin } from './cgroup/workarounds/expect-join.ts';
import { createImageDisks } from './disk/image-disks.ts';
import { createImageRoots } from './disk/image-roots.ts';
import type { HostBackend } from './host-backend.ts';

/** The backend of root: each sandbox has a range of ids, cgroups and a bounded disk of its own. */
export const createRootBackend = ({ dataDir }: { dataDir: string }): HostBackend => {
  const cgroups = readCgroupLayout();
  const cgroupParent = toCgroupParent(dataDir);
  return {
    toBaseId: toBaseUid,
    readForeignIds,
    openUserNamespace: ({ slot }) => openUserNamespace(toBaseUid(slot)),
    shiftsImages: true,
    disks: createImageDisks(`${dataDir}/run`),
    roots: createImageRoots(dataDir),
    writeImage: makeFileSystemImage,
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
