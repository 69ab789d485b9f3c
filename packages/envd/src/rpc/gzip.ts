// The bundle of the agent has a file for what is imported late, which then contains only this.
export { compressionGzip } from '@connectrpc/connect-node';
