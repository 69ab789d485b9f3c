export { toCriuCommand } from './criu/prepare-criu.ts';
export { type OciEnvironment, type OciSettings, openOci } from './open.ts';
export { findLevelObstacle, hasLevelWorked } from './probes/level-obstacle.ts';
export { probeMounts } from './probes/mounts.ts';
export type { ProbedRootless } from './probes/probed-rootless.ts';
export { describeRootlessNamespace, probeRootless } from './probes/rootless.ts';
export { describeSockets, limitsSwap, probeSandboxes, type SandboxProbeOptions } from './probes/sandboxes.ts';
export { probeSeccomp } from './probes/seccomp.ts';
export { hasSandboxes, type Remains, removeRemains } from './remains/remains.ts';
