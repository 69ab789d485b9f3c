import { existsSync, readFileSync } from 'node:fs';
import type { HostAllowance } from '../container/bundle.ts';

/** Of the network namespace of the process that opens it. */
export const multipathSetting = '/proc/sys/net/mptcp/enabled';

/** More would only make programs slow that close every number they may have. */
export const MAX_OPEN_FILES = 1_048_576;

export const oomScorePath = '/proc/self/oom_score_adj';

/** Reads what this process may pass on; an OCI runtime told to exceed that fails instead of starting anything. */
export const readHostAllowance = (): HostAllowance => {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const hard = /^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1];
  return {
    openFiles: Math.min(Number(hard ?? 1024), MAX_OPEN_FILES),
    oomScore: Math.max(0, Number(readFileSync(oomScorePath, 'utf8'))),
    hasMultipath: existsSync(multipathSetting),
  };
};
