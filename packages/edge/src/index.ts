export type { Directory, Route } from './directory.ts';
export { createEdge, type Edge, type EdgeOptions } from './edge.ts';
export { edgeServerOptions } from './server-options.ts';
