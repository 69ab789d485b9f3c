import { readHostAllowance } from './cgroup/host-allowance.ts';
import type { HostAllowance, SeccompInput } from './container/bundle.ts';
import {
  findOciRuntime,
  type OciRuntime,
  type OciRuntimeName,
  type OwnKernel,
} from './container/oci-runtime.ts';
import { compileSeccomp } from './container/seccomp.ts';
import { createSettingsCover } from './criu/cover-settings.ts';
import { type Criu, findCriu } from './criu/criu.ts';
import { createRunsc } from './gvisor/runsc.ts';
import type { GroundOptions, Means } from './means.ts';
import { createRootMeans } from './root-means.ts';
import { createSnapshots, type OciSnapshots } from './snapshots/snapshots.ts';
import { createUserMeans } from './user-means.ts';

/** What the driver found out about this host and its own data folder; the same for all sandboxes. */
export interface OciHost extends Means {
  readonly dataDir: string;
  readonly stateDir: string | undefined;
  readonly runtime: OciRuntime;
  readonly seccomp: SeccompInput;
  readonly allowance: HostAllowance;
  readonly snapshots: OciSnapshots;
  /** One of the two keeps memory, or neither. */
  readonly criu: Criu | undefined;
  readonly ownKernel: OwnKernel | undefined;
  /** Puts copies over the kernel's settings, in private mounts. */
  readonly coverSettings: () => void;
}

/** @throws RuntimeError `unsupported` when the host lacks an OCI runtime */
export const readHost = (options: {
  dataDir: string;
  stateDir?: string | undefined;
  ociRuntime?: OciRuntimeName | undefined;
  runscPath?: string | undefined;
  criuDir?: string | undefined;
  keepsMemory?: boolean | undefined;
  ground?: GroundOptions | undefined;
}): OciHost => {
  const { dataDir, stateDir, ociRuntime, runscPath, criuDir, keepsMemory = false, ground } = options;
  const means = ground ? createUserMeans({ dataDir, ground }) : createRootMeans({ dataDir });
  const allowance = readHostAllowance();
  const runtime = runscPath ? createRunsc(runscPath) : findOciRuntime(means, ociRuntime && [ociRuntime]);
  return {
    ...means,
    dataDir,
    stateDir,
    runtime,
    seccomp: runtime.takesSeccompProgram
      ? { program: compileSeccomp(runtime.seccompProfile) }
      : { profile: runtime.seccompProfile },
    allowance,
    // A kernel in a process cannot be written down by it.
    criu: means.makesCgroups && runtime.level === 'container' ? findCriu(criuDir) : undefined,
    ownKernel: keepsMemory ? runtime.ownKernel : undefined,
    snapshots: createSnapshots(dataDir),
    coverSettings: createSettingsCover(`${dataDir}/run`),
  };
};
