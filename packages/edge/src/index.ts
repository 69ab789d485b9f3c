export type { Directory, Route } from '@skerry/contract/directory';
export { createEdge, type Edge, type EdgeOptions } from './edge.ts';
export { edgeServerOptions } from './server-options.ts';
