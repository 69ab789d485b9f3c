import { setPriority } from 'node:os';

/** Nine processes that burn cpu then weigh as much as the agent, which runs at 0 (sched(7)). */
const NICE = 10;

/**
 * Puts a process that was just started behind the agent when there is not cpu enough for both; all that it starts from now on inherits
 * that. Before the fork the agent cannot do it, as it may not take it back from itself. Compared with other sandboxes nothing changes,
 * since a sandbox has its share as a whole. A sandbox without the right to do it (CAP_SYS_NICE in its own user namespace) goes without.
 */
export const yieldToAgent = (pid: number): void => {
  try {
    setPriority(pid, NICE);
  } catch {
    // The process has ended already, or the right is missing: then the kernel shares evenly.
  }
};
