export { prepareAgentFolder } from './agent-folder.ts';
export { isRuntimeError, RuntimeError, type RuntimeErrorCode } from './error.ts';
export { type HelperGround, type HelperOptions, startHelper } from './helper.ts';
export { prepareCriu } from './prepare-criu.ts';
export { prepareRunsc } from './prepare-runsc.ts';
export { checkHost } from './probes/check-host.ts';
export type { ProbeResult } from './probes/probe.ts';
export { probeHost } from './probes/probe-host.ts';
export { readNamespaceMend } from './probes/user.ts';
export { endGround, ensureGround, groundBaseId, toEnterCommand } from './rootless/ground.ts';
export { toHelperGround } from './rootless/helper-ground.ts';
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
  SocketReader,
  TreeOrigin,
  Usage,
} from './runtime.ts';
