import { constants } from 'node:os';
import { libc } from '../../kernel/native.ts';

/** The user and the group of the gateway: an id of 16 bits that no user of a host has by the rules of systemd. */
const GATEWAY_ID = 65_533;

/** linux/prctl.h */
const PR_SET_PDEATHSIG = 1;

const prctl = libc.func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)');

/**
 * Makes this process that of an unprivileged user, with no capability in any thread, which ends with its parent. Call it when all that it
 * loads is loaded, as that may lie in a folder of another user, and before it reads anything that comes from sandboxes.
 */
export const leaveRoot = (): void => {
  process.setgroups?.([]);
  process.setgid?.(GATEWAY_ID);
  // The C library does so in all threads, and the kernel takes the capabilities of a root that leaves.
  process.setuid?.(GATEWAY_ID);
  // The kernel has forgotten one from before. A parent that has ended has closed the input.
  prctl(PR_SET_PDEATHSIG, constants.signals.SIGKILL, 0, 0, 0);
};
