import { existsSync, readFileSync } from 'node:fs';
import { oomScorePath, readOpenFilesLimit } from '../../../kernel/inherited-limits.ts';
import type { HostAllowance } from '../container/bundle.ts';

/** It belongs to the network namespace of the process that opens it. */
export const multipathSetting = '/proc/sys/net/mptcp/enabled';

/** Reads the limits that this process can pass on; an OCI runtime that has to exceed them starts nothing. */
export const readHostAllowance = (): HostAllowance => {
  return {
    openFiles: readOpenFilesLimit(),
    fileMax: Number(readFileSync('/proc/sys/fs/file-max', 'utf8')),
    oomScore: Math.max(0, Number(readFileSync(oomScorePath, 'utf8'))),
    hasMultipath: existsSync(multipathSetting),
  };
};
