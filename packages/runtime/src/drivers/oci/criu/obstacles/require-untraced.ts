import { readdirSync, readFileSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { readIfPresent } from '../../../../kernel/read-if-present.ts';
import { ObstacleError } from '../../../../obstacle.ts';
import { observeProcess } from '../processes/observe-process.ts';

/**
 * Rejects with an `ObstacleError` when a thread of the processes is traced, ptrace(2): a thread has one tracer, and CRIU
 * must be that. CRIU would retry for 10 s.
 */
export const requireUntraced = async (pids: readonly number[]): Promise<void> => {
  const yielder = createYielder();
  for (const pid of pids) {
    for (const thread of readIfPresent(() => readdirSync(`/proc/${pid}/task`)) ?? []) {
      // proc_pid_status(5)
      const status = readIfPresent(() => readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8')) ?? '';
      if (/^TracerPid:\s+[1-9]/m.test(status))
        throw new ObstacleError({ kind: 'traced_process', process: observeProcess(pid) });
      await yielder();
    }
  }
};
