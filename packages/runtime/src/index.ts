export { prepareAgentFolder } from './drivers/agent-folder.ts';
export {
  type DriverChoice,
  prepareCriu,
  prepareRunsc,
  type Remains,
  removeRemains,
} from './drivers/index.ts';
export { isRuntimeError, RuntimeError, type RuntimeErrorCode, RuntimeLostError } from './error.ts';
export { identifyProcess, isAlive, type ProcessIdentity } from './kernel/process-identity.ts';
export { checkHost } from './probes/check-host.ts';
export type { ProbeResult } from './probes/probe.ts';
export { probeHost } from './probes/probe-host.ts';
export { readNamespaceMend } from './probes/user.ts';
export { type HelperGround, type HelperOptions, startHelper } from './remote/helper.ts';
export type { HelperFault } from './remote/helper-faults.ts';
export { findHelper } from './remote/helper-record.ts';
export { endGround, ensureGround, groundBaseId, toEnterCommand } from './rootless/ground.ts';
export { describeGroundLimits, type GroundLimits, toHelperGround } from './rootless/helper-ground.ts';
export type {
  Difference,
  Features,
  Instance,
  InstanceOrigin,
  InstanceSettings,
  InstanceSpec,
  InstanceState,
  Limits,
  Runtime,
  SnapshotId,
  SnapshotInfo,
  Snapshots,
  TreeOrigin,
  Usage,
} from './runtime.ts';
