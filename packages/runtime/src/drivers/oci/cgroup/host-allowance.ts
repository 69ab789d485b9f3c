import { existsSync, readFileSync } from 'node:fs';
import { oomScorePath, readOpenFilesLimit } from '../../../kernel/inherited-limits.ts';

/** The limits that this process can pass on to a sandbox. */
export interface HostAllowance {
  /** The most files that one process may open. */
  openFiles: number;
  /** The most files that all processes of the host may open together. */
  fileMax: number;
  /**
   * The lowest `oom_score_adj` that a sandbox may have: 0, or that of this process where the kernel does not lower it.
   */
  oomScore: number;
  /** Whether sockets of this kernel can use multipath TCP, which CRIU cannot dump. */
  hasMultipath: boolean;
}

/** A setting of the network namespace of the process that opens the file. */
export const multipathSetting = '/proc/sys/net/mptcp/enabled';

/** Reads the limits that this process can pass on; an OCI runtime that has to exceed them starts nothing. */
export const readHostAllowance = (): HostAllowance => ({
  openFiles: readOpenFilesLimit(),
  fileMax: Number(readFileSync('/proc/sys/fs/file-max', 'utf8')),
  oomScore: Math.max(0, Number(readFileSync(oomScorePath, 'utf8'))),
  hasMultipath: existsSync(multipathSetting),
});
