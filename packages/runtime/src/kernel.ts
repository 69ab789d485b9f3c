// What programs of skerry beside the helper need of the kernel.

export {
  type FileLock,
  isFileLocked,
  tryFileLock,
  waitForFileLock,
  withFolderLock,
} from './kernel/file-lock.ts';
export { leaveRoot } from './network/gateway/leave-root.ts';
export { readOriginalDestination } from './network/gateway/original-destination.ts';
