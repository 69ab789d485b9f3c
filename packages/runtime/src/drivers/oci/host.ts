import { createHash } from 'node:crypto';
import type { HostAllowance, SeccompInput } from './bundle.ts';
import { type Cgroup, type CgroupLayout, openCgroup, readCgroupLayout } from './cgroup.ts';
import { createSettingsCover } from './cover-settings.ts';
import { type Criu, findCriu } from './criu.ts';
import { createDiskFormatter } from './disk.ts';
import { readHostAllowance } from './host-allowance.ts';
import { findOciRuntime, type OciRuntime, type OciRuntimeName } from './oci-runtime.ts';
import { createRunsc } from './runsc.ts';
import { compileSeccomp } from './seccomp.ts';
import { createSnapshots, type OciSnapshots } from './snapshots.ts';

/** What the driver found out about this host and its own data folder; the same for all sandboxes. */
export interface OciHost {
  readonly dataDir: string;
  readonly stateDir: string | undefined;
  readonly runtime: OciRuntime;
  readonly seccomp: SeccompInput;
  readonly allowance: HostAllowance;
  readonly cgroups: CgroupLayout;
  /** The folder that the cgroups of this data folder, and of no other, share. */
  readonly cgroupParent: string;
  readonly snapshots: OciSnapshots;
  /** Undefined where memory cannot be kept. */
  readonly criu: Criu | undefined;
  readonly formatDisk: ReturnType<typeof createDiskFormatter>;
  /** Puts copies over the kernel's settings, in private mounts. */
  readonly coverSettings: () => void;
  cgroup(id: string): Cgroup;
}

/** @throws RuntimeError `unsupported` when the host lacks an OCI runtime */
export const readHost = (options: {
  dataDir: string;
  stateDir?: string | undefined;
  ociRuntime?: OciRuntimeName | undefined;
  runscPath?: string | undefined;
  criuDir?: string | undefined;
}): OciHost => {
  const { dataDir, stateDir, ociRuntime, runscPath, criuDir } = options;
  const allowance = readHostAllowance();
  const cgroups = readCgroupLayout();
  const runtime = runscPath ? createRunsc(runscPath) : findOciRuntime(cgroups, ociRuntime && [ociRuntime]);
  const cgroupParent = `skerry-${createHash('sha256').update(dataDir).digest('hex').slice(0, 12)}`;
  return {
    dataDir,
    stateDir,
    runtime,
    seccomp: runtime.takesSeccompProgram
      ? { program: compileSeccomp(runtime.seccompProfile) }
      : { profile: runtime.seccompProfile },
    allowance,
    // A kernel in a process cannot be written down by it.
    criu: runtime.level === 'container' ? findCriu(criuDir, allowance) : undefined,
    cgroups,
    cgroupParent,
    snapshots: createSnapshots(dataDir),
    formatDisk: createDiskFormatter(`${dataDir}/run`),
    coverSettings: createSettingsCover(`${dataDir}/run`),
    cgroup: (id) => openCgroup(cgroups, cgroupParent, id),
  };
};
