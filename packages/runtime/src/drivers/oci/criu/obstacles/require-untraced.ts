import { readdirSync, readFileSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { RuntimeError } from '../../../../error.ts';
import { orNothing } from '../../../../kernel/or-nothing.ts';

/**
 * Rejects with `unavailable` when a thread of the processes is traced, ptrace(2): it has one tracer, and CRIU has to be that. It
 * would try for 10 s.
 */
export const requireUntraced = async (pids: readonly number[]): Promise<void> => {
  const yielder = createYielder();
  for (const pid of pids) {
    for (const thread of orNothing(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
      // proc_pid_status(5)
      const status = orNothing(() => readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')) ?? '';
      if (/^TracerPid:\s+[1-9]/m.test(status)) throw new RuntimeError('unavailable', 'a process is traced');
      await yielder();
    }
  }
};
