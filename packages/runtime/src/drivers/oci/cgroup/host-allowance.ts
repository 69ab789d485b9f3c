import { existsSync, readFileSync } from 'node:fs';
import { oomScorePath, readOpenFilesLimit } from '../../../kernel/inherited-limits.ts';
import type { HostAllowance } from '../container/bundle.ts';

/** Of the network namespace of the process that opens it. */
export const multipathSetting = '/proc/sys/net/mptcp/enabled';

/** Reads what this process may pass on; an OCI runtime told to exceed that fails instead of starting anything. */
export const readHostAllowance = (): HostAllowance => {
  return {
    openFiles: readOpenFilesLimit(),
    oomScore: Math.max(0, Number(readFileSync(oomScorePath, 'utf8'))),
    hasMultipath: existsSync(multipathSetting),
  };
};
