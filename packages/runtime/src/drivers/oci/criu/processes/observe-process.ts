import { readFileSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { readIfPresent } from '../../../../kernel/read-if-present.ts';
import type { ObservedProcess } from '../../../../obstacle.ts';
import { listDescriptors, readDescriptor } from '../descriptors/list-descriptors.ts';

/** Returns the process of that pid on the host as its sandbox sees it; undefined when it has ended. */
export const observeProcess = (pid: number): ObservedProcess | undefined =>
  readIfPresent(() => {
    // proc_pid_status(5): the last pid is that in the innermost namespace.
    const inside = /^NSpid:.*\s(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const command = readFileSync(`/proc/${pid}/comm`, 'latin1').trimEnd();
    return { pid: Number(inside), command: command.replaceAll(/[^ -~]/g, '?') };
  });

/** Resolves with the first of the frozen processes that has the socket open; undefined when none has. */
export const findSocketHolder = async (
  pids: readonly number[],
  inode: number,
): Promise<ObservedProcess | undefined> => {
  const yielder = createYielder();
  for (const descriptor of listDescriptors(pids)) {
    if (readDescriptor(descriptor) === `socket:[${inode}]`) return observeProcess(descriptor.pid);
    await yielder();
  }
  return undefined;
};
