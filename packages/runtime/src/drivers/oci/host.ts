import type { IsolationLevel } from '@skerry/contract/isolation';
import { RuntimeError } from '../../error.ts';
import type { HostAllowance } from './cgroup/host-allowance.ts';
import { readHostAllowance } from './cgroup/host-allowance.ts';
import { createHostClassReader } from './compatibility/read-host-class.ts';
import {
  findOciRuntime,
  type OciRuntime,
  type OciRuntimeName,
  ociRuntimeNames,
} from './container/oci-runtime.ts';
import { compileSeccomp } from './container/seccomp.ts';
import { createSettingsCover } from './criu/cover-settings.ts';
import { findCriu } from './criu/criu.ts';
import { createRunsc } from './gvisor/runsc.ts';
import type { HostBackend, RootlessOptions } from './host-backend.ts';
import { levels } from './levels.ts';
import type { LevelHost, OpenedLevel } from './opened-levels.ts';
import { createRootBackend } from './root-backend.ts';
import { createRootlessBackend } from './rootless-backend.ts';
import { createSnapshots, type OciSnapshots } from './snapshots/snapshots.ts';

/** What the driver has found out about this host and its own data folder; the same for all sandboxes. */
export interface OciHost extends HostBackend, LevelHost {
  readonly dataDir: string;
  readonly stateDir: string | undefined;
  readonly allowance: HostAllowance;
  readonly snapshots: OciSnapshots;
  /** Mounts copies over the kernel's settings, in private mounts. */
  readonly coverSettings: () => void;
}

/** @throws RuntimeError `unsupported` when the host lacks the OCI runtime of the default level */
export const readHost = (options: {
  dataDir: string;
  stateDir?: string | undefined;
  ociRuntime?: OciRuntimeName | undefined;
  runscPath?: string | undefined;
  criuDir?: string | undefined;
  keepsMemory?: boolean | undefined;
  level?: IsolationLevel | undefined;
  minimumLevel?: IsolationLevel | undefined;
  rootless?: RootlessOptions | undefined;
}): OciHost => {
  const { dataDir, stateDir, ociRuntime, runscPath, criuDir, keepsMemory = false, rootless } = options;
  const { level: defaultLevel = runscPath ? 'gvisor' : 'container' } = options;
  const { minimumLevel = defaultLevel } = options;
  const backend = rootless ? createRootlessBackend({ dataDir, rootless }) : createRootBackend({ dataDir });
  const names = ociRuntime ? [ociRuntime] : ociRuntimeNames;
  const runtimes = [findOciRuntime(backend, names), runscPath && createRunsc(runscPath)];
  const open = (runtime: OciRuntime): OpenedLevel => {
    const { level, seccompProfile: profile } = runtime;
    const { checkpointer } = levels[level];
    const criu = backend.makesCgroups && checkpointer === 'criu' ? findCriu(criuDir) : undefined;
    const sentry = keepsMemory ? runtime.sentry : undefined;
    return {
      runtime,
      seccomp: runtime.takesSeccompProgram ? { program: compileSeccomp(profile) } : { profile },
      criu,
      sentry,
      readClass: createHostClassReader({ criu, sentry, cgroups: backend.cgroups, level }),
    };
  };
  const opened = Object.fromEntries(
    runtimes.flatMap((runtime) => (runtime ? [[runtime.level, open(runtime)]] : [])),
  ) as OciHost['levels'];
  if (opened[defaultLevel] === undefined) throw new RuntimeError('unsupported', missing[defaultLevel](names));
  return {
    ...backend,
    dataDir,
    stateDir,
    levels: opened,
    defaultLevel,
    minimumLevel,
    allowance: readHostAllowance(),
    snapshots: createSnapshots(dataDir),
    coverSettings: createSettingsCover(`${dataDir}/run`),
  };
};

const missing: Record<IsolationLevel, (names: readonly OciRuntimeName[]) => string> = {
  container: (names) => `no OCI runtime is installed: ${names.join(' or ')}`,
  gvisor: () => 'there is no runsc',
};
