import { readHostAllowance } from './cgroup/host-allowance.ts';
import type { HostClass } from './compatibility/compatibility-class.ts';
import { createHostClassReader } from './compatibility/read-host-class.ts';
import type { HostAllowance, SeccompInput } from './container/bundle.ts';
import {
  findOciRuntime,
  type OciRuntime,
  type OciRuntimeName,
  type Sentry,
} from './container/oci-runtime.ts';
import { compileSeccomp } from './container/seccomp.ts';
import { createSettingsCover } from './criu/cover-settings.ts';
import { type Criu, findCriu } from './criu/criu.ts';
import { createRunsc } from './gvisor/runsc.ts';
import type { HostBackend, RootlessOptions } from './host-backend.ts';
import { levels } from './levels.ts';
import { createRootBackend } from './root-backend.ts';
import { createRootlessBackend } from './rootless-backend.ts';
import { createSnapshots, type OciSnapshots } from './snapshots/snapshots.ts';

/** What the driver has found out about this host and its own data folder; the same for all sandboxes. */
export interface OciHost extends HostBackend {
  readonly dataDir: string;
  readonly stateDir: string | undefined;
  readonly runtime: OciRuntime;
  readonly seccomp: SeccompInput;
  readonly allowance: HostAllowance;
  readonly snapshots: OciSnapshots;
  /** One of the two keeps memory, or neither. */
  readonly criu: Criu | undefined;
  readonly sentry: Sentry | undefined;
  /** See `createHostClassReader`. */
  readonly readClass: () => Promise<HostClass | undefined>;
  /** Mounts copies over the kernel's settings, in private mounts. */
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
  rootless?: RootlessOptions | undefined;
}): OciHost => {
  const { dataDir, stateDir, ociRuntime, runscPath, criuDir, keepsMemory = false, rootless } = options;
  const backend = rootless ? createRootlessBackend({ dataDir, rootless }) : createRootBackend({ dataDir });
  const allowance = readHostAllowance();
  const runtime = runscPath ? createRunsc(runscPath) : findOciRuntime(backend, ociRuntime && [ociRuntime]);
  const { checkpointer } = levels[runtime.level];
  const criu = backend.makesCgroups && checkpointer === 'criu' ? findCriu(criuDir) : undefined;
  const sentry = keepsMemory ? runtime.sentry : undefined;
  return {
    ...backend,
    dataDir,
    stateDir,
    runtime,
    seccomp: runtime.takesSeccompProgram
      ? { program: compileSeccomp(runtime.seccompProfile) }
      : { profile: runtime.seccompProfile },
    allowance,
    criu,
    sentry,
    readClass: createHostClassReader({ criu, sentry, cgroups: backend.cgroups, level: runtime.level }),
    snapshots: createSnapshots(dataDir),
    coverSettings: createSettingsCover(`${dataDir}/run`),
  };
};
