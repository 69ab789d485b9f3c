import { type IsolationLevel, isolationLevels } from '@skerry/contract/isolation';
import { RuntimeError } from '../../error.ts';
import type { Gateway } from '../../network/gateway/gateway.ts';
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
import { createLevelOpening, type LaterLevels } from './level-opening.ts';
import { levels } from './levels.ts';
import type { LevelHost, LevelPrograms, OpenedLevel, TryLevel } from './opened-levels.ts';
import { createRootBackend } from './root-backend.ts';
import { createRootlessBackend } from './rootless-backend.ts';
import { createSnapshots, type OciSnapshots } from './snapshots/snapshots.ts';

/** What the driver has found out about this host and its own data folder; the same for all sandboxes. */
export interface OciHost extends HostBackend, LevelHost {
  readonly dataDir: string;
  readonly stateDir: string | undefined;
  /** What decides on names that sandboxes may reach. Undefined where no sandbox can have such rules. */
  readonly gateway: Gateway | undefined;
  readonly allowance: HostAllowance;
  readonly snapshots: OciSnapshots;
  /** Mounts copies over the kernel's settings, in private mounts. */
  readonly coverSettings: () => void;
}

/** @throws RuntimeError `unsupported` when the host lacks the OCI runtime of the default level */
export const readHost = (
  options: LevelPrograms & {
    dataDir: string;
    stateDir?: string | undefined;
    levels?: readonly IsolationLevel[] | undefined;
    level?: IsolationLevel | undefined;
    minimumLevel?: IsolationLevel | undefined;
    rootless?: RootlessOptions | undefined;
    later?: { levels: LaterLevels; tryLevel: TryLevel } | undefined;
    gateway?: Gateway | undefined;
  },
): OciHost => {
  const { dataDir, stateDir, gateway, ociRuntime, runscPath, later, rootless } = options;
  const { level: defaultLevel = runscPath ? 'gvisor' : 'container' } = options;
  const { levels: mayOpen = isolationLevels, minimumLevel = defaultLevel } = options;
  const backend = rootless ? createRootlessBackend({ dataDir, rootless }) : createRootBackend({ dataDir });
  const names = ociRuntime ? [ociRuntime] : ociRuntimeNames;
  const open = (runtime: OciRuntime, { criuDir, keepsMemory = false }: LevelPrograms): OpenedLevel => {
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
  const opened: Partial<Record<IsolationLevel, OpenedLevel>> = {};
  const openWith = (level: IsolationLevel, programs: LevelPrograms): OpenedLevel | undefined => {
    const runtime = findRuntime[level](backend, programs);
    return runtime && open(runtime, programs);
  };
  for (const level of mayOpen) {
    const found = openWith(level, options);
    if (found) opened[level] = found;
  }
  if (opened[defaultLevel] === undefined) throw new RuntimeError('unsupported', missing[defaultLevel](names));
  return {
    ...backend,
    dataDir,
    stateDir,
    gateway,
    levels: opened,
    runsLevel: (level) => opened[level] !== undefined || later?.levels[level] !== undefined,
    openLevel: later ? createLevelOpening({ ...later, opened, openWith }) : async () => {},
    defaultLevel,
    minimumLevel,
    allowance: readHostAllowance(),
    snapshots: createSnapshots(dataDir),
    coverSettings: createSettingsCover(`${dataDir}/run`),
  };
};

const findRuntime: Record<
  IsolationLevel,
  (backend: HostBackend, programs: LevelPrograms) => OciRuntime | undefined
> = {
  container: (backend, { ociRuntime }) =>
    findOciRuntime(backend, ociRuntime ? [ociRuntime] : ociRuntimeNames),
  gvisor: (_, { runscPath }) => (runscPath ? createRunsc(runscPath) : undefined),
};

const missing: Record<IsolationLevel, (names: readonly OciRuntimeName[]) => string> = {
  container: (names) => `no OCI runtime is installed: ${names.join(' or ')}`,
  gvisor: () => 'there is no runsc',
};
