export type { AgentKeys, Directory, Route } from '@skerry/contract/directory';
export { toConnectionBounds } from './connection-bounds.ts';
export { type ConnectionGuard, guardConnections } from './connection-guard.ts';
export { readDescriptorLimit, watchDescriptors } from './descriptor-watch.ts';
export { createEdge, type Edge, type EdgeOptions } from './edge.ts';
export { edgeServerOptions } from './server-options.ts';
