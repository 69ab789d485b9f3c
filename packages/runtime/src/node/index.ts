export { isNodeName } from './certificate-role.ts';
export { connectNode, type NodeConnection } from './connect-node.ts';
export { type CredentialFiles, type Credentials, CredentialsError, loadCredentials } from './credentials.ts';
export type { NodeAddress } from './dial-node.ts';
export type { NodeImageFiles } from './image-door.ts';
export type { NodeDescription, NodeRoom } from './node-description.ts';
export type { RemoteImages } from './node-images.ts';
export type { Claim } from './opening.ts';
export { type NodeServer, serveNode } from './serve-node.ts';
