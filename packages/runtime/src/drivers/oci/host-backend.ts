import type { Surroundings } from '../../network/rules.ts';
import type { Features, Limits } from '../../runtime.ts';
import type { Cgroup, CgroupLayout } from './cgroup/cgroup.ts';
import type { Disks } from './disk/disks.ts';
import type { SandboxRecord } from './record.ts';

/** Says that this process is root in the ground of an ordinary user. */
export interface GroundOptions {
  /** Of the host, which are closed to sandboxes. */
  hostAddresses: readonly string[];
  /** Of a delegated cgroup, whose members this process may move; sandboxes have limits by it. */
  cgroupFolder?: string | undefined;
}

/** With what this process makes sandboxes: all that differs between root of a host and an ordinary user in his ground. */
export interface HostBackend {
  /** The id of a sandbox's root, as this process sees it. */
  toBaseId(slot: number): number;
  /** Resolves with a descriptor of the user namespace for the next run; the caller closes it. */
  openUserNamespace(record: SandboxRecord): Promise<number>;
  /** Whether a shared image belongs to root and is shown with the owners of a sandbox; else it has these itself. */
  readonly shiftsImages: boolean;
  readonly disks: Disks;
  /** Whether the disk of a sandbox can be captured by itself, and compared. */
  readonly capturesDisks: boolean;
  readonly cgroups: CgroupLayout;
  /** The folder that the cgroups of this data folder, and of no other, share. */
  readonly cgroupParent: string;
  cgroup(id: string): Cgroup;
  /** To be called some 10 ms before a process joins a cgroup, so that it need not wait for the kernel then. */
  expectJoin(): void;
  /**
   * Makes the cgroup of a run that is about to start, where no OCI runtime makes it, and resolves with the files that take its
   * members; with none elsewhere.
   */
  prepareCgroup(id: string, limits: Limits): Promise<readonly string[]>;
  /** Whether OCI runtimes make cgroups. */
  readonly makesCgroups: boolean;
  /** What is not as it would be found out on the host. */
  readonly surroundings: Partial<Surroundings>;
  readonly limits: Features['limits'];
}
