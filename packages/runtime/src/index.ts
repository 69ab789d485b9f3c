export { prepareAgentFolder } from './agent-folder/agent-folder.ts';
export {
  type DriverChoice,
  findLevelObstacle,
  hasLevelWorked,
  hasSandboxes,
  type Remains,
  removeRemains,
} from './drivers/index.ts';
export { requireOwnFolder } from './drivers/own-files.ts';
export { checkPreparedPrograms } from './drivers/program-hashes.ts';
export { isRuntimeError, RuntimeError, type RuntimeErrorCode, RuntimeLostError } from './error.ts';
export type { HostLoad } from './host-load.ts';
export { identifyProcess, isAlive, type ProcessIdentity } from './kernel/process-identity.ts';
export type { NetworkPolicy } from './network/policy.ts';
export { describeObstacle, isPassing, type Obstacle, ObstacleError, type ObstacleKind } from './obstacle.ts';
export type { ProbeResult } from './probe.ts';
export { checkHost } from './probes/check-host.ts';
export { probeHost } from './probes/probe-host.ts';
export { readNamespaceMend } from './probes/user.ts';
export type { RemoteRuntime } from './remote/client.ts';
export { type HelperOptions, type HelperRootlessOptions, startHelper } from './remote/helper.ts';
export type { HelperFault } from './remote/helper-faults.ts';
export { findHelper } from './remote/helper-record.ts';
export { measureHost } from './remote/host-service.ts';
export {
  describeRootlessLimits,
  type RootlessLimits,
  toHelperRootlessOptions,
} from './rootless/helper-options.ts';
export {
  endRootlessNamespace,
  ensureRootlessNamespace,
  rootlessBaseId,
  toEnterCommand,
} from './rootless/namespace.ts';
export type {
  Difference,
  Features,
  Instance,
  InstanceOrigin,
  InstanceSettings,
  InstanceSpec,
  InstanceState,
  Kept,
  LevelFeatures,
  Limits,
  Runtime,
  SnapshotId,
  SnapshotInfo,
  Snapshots,
  TreeOrigin,
  Usage,
} from './runtime.ts';
