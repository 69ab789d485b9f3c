export { handleBlobs } from './handle-blobs.ts';
export { createRemoteStore } from './remote-store.ts';
