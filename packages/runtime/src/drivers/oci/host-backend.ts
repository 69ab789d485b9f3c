import type { IdRange } from '../../network/foreign-ids.ts';
import type { Surroundings } from '../../network/rules.ts';
import type { Features, Limits } from '../../runtime.ts';
import type { makeFileSystemImage } from '../file-system-image.ts';
import type { Cgroup, CgroupLayout } from './cgroup/cgroup.ts';
import type { Disks } from './disk/disks.ts';
import type { Roots } from './disk/roots.ts';
import type { SandboxRecord } from './record.ts';

/** Set where this process is root in the rootless namespace of an ordinary user. */
export interface RootlessOptions {
  /** Addresses of the host and its neighbours, also as ranges, which are closed to sandboxes. */
  hostAddresses: readonly string[];
  /** The folder of a delegated cgroup, whose members this process may move; sandboxes have limits by it. */
  cgroupFolder?: string | undefined;
}

/** Everything that differs between root of a host and an ordinary user in a rootless namespace. */
export interface HostBackend {
  /** The id of a sandbox's root, as seen by this process. */
  toBaseId(slot: number): number;
  /** Ids that no sandbox may have, as the host says now. A slot with one of them is not taken. */
  readForeignIds(): Promise<readonly IdRange[]>;
  /** Resolves with a descriptor of the user namespace for the next run; the caller closes it. */
  openUserNamespace(record: SandboxRecord): Promise<number>;
  /**
   * Whether a shared image belongs to root and is mounted with the owners of a sandbox; otherwise its files have these
   * owners already.
   */
  readonly shiftsImages: boolean;
  readonly disks: Disks;
  readonly roots: Roots;
  /** Writes the tree in the folder `rootfs` of `folder` as an image at `path`, in the form that `roots` opens. */
  readonly writeImage: typeof makeFileSystemImage;
  /** Whether the disk of a sandbox can be captured by itself, and compared. */
  readonly capturesDisks: boolean;
  readonly cgroups: CgroupLayout;
  /** The folder that the cgroups of this data folder, and of no other, share. */
  readonly cgroupParent: string;
  cgroup(id: string): Cgroup;
  /** Call it some 10 ms before a process joins a cgroup, so that the kernel does not make that wait. */
  expectJoin(): void;
  /**
   * Makes the cgroup of a run that is about to start, where no OCI runtime makes it, and resolves with its
   * `cgroup.procs` files; otherwise with none.
   */
  prepareCgroup(id: string, limits: Limits): Promise<readonly string[]>;
  /** Whether OCI runtimes make cgroups. */
  readonly makesCgroups: boolean;
  /** Settings that differ from those read from the host. */
  readonly surroundings: Partial<Surroundings>;
  readonly limits: Features['limits'];
}
