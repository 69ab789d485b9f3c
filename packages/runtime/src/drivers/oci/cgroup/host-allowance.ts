import { existsSync, readFileSync } from 'node:fs';
import type { HostAllowance } from '../container/bundle.ts';

const CAP_SYS_RESOURCE = 24n;

/** Of the network namespace of whoever opens it. */
export const multipathSetting = '/proc/sys/net/mptcp/enabled';

/**
 * Reads what this process may pass on. Root of a ground, and of a host that is itself confined, may lack CAP_SYS_RESOURCE
 * there; an OCI runtime told to exceed its own limits then fails instead of starting anything.
 */
export const readHostAllowance = ({ isInGround }: { isInGround: boolean }): HostAllowance => {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const status = readFileSync('/proc/self/status', 'utf8');
  const hard = /^Max open files\s+\S+\s+(\d+)/m.exec(limits)?.[1];
  const effective = /^CapEff:\s+([0-9a-f]+)/m.exec(status)?.[1];
  return {
    openFiles: Number(hard ?? 1024),
    hasMultipath: existsSync(multipathSetting),
    exceedsLimits: !isInGround && ((BigInt(`0x${effective ?? '0'}`) >> CAP_SYS_RESOURCE) & 1n) === 1n,
  };
};
