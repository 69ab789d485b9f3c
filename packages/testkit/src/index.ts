export type { Cluster } from './cluster/cluster.ts';
export { type DatabaseCluster, startDatabaseCluster } from './cluster/database-cluster.ts';
export { makeTrustedCertificate } from './secure/trusted-certificate.ts';
export { findFreePort } from './stack/find-free-port.ts';
export { replaceEdge } from './stack/initialize-agent.ts';
export { type Stack, startStack } from './stack/stack.ts';
export { type CreateOptions, type StackAddress, type StackSandbox, toRouting } from './stack/stack-client.ts';
export { untilServed } from './stack/until-served.ts';
export { type DebianRegistry, makeBusyboxFolder, startDebianRegistry } from './templates/debian-registry.ts';
