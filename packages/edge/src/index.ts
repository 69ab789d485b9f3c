export type { AgentKeys, Directory, Route } from '@skerry/contract/directory';
export { answerOf } from './client.ts';
export { toConnectionBounds } from './connections/connection-bounds.ts';
export { type ConnectionGuard, guardConnections } from './connections/connection-guard.ts';
export { readDescriptorLimit, watchDescriptors } from './connections/descriptor-watch.ts';
export { createEdge, type Edge, type EdgeOptions } from './edge.ts';
export { findTarget, type HostRules, isSandboxAddress } from './host.ts';
export { edgeServerOptions } from './server-options.ts';
