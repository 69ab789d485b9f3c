import { readdirSync, readFileSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { readIfPresent } from '../../../../kernel/read-if-present.ts';

/** One process of a sandbox, perhaps a zombie. Pids are the host's. */
export interface TreeProcess {
  pid: number;
  parent: number;
  /** The pid of its session leader, also when that has ended. */
  session: number;
  hasEnded: boolean;
}

/**
 * All processes under the first one, that one first. Call it when none of them runs; skips those that have ended. There
 * may be as many as code inside could start: other work of this process runs meanwhile.
 */
export const readProcessTree = async (first: number): Promise<TreeProcess[]> => {
  const yielder = createYielder();
  const found: TreeProcess[] = [];
  const open = [first];
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    const process = readProcess(pid);
    if (process === undefined) continue;
    found.push(process);
    for (const child of readChildren(pid)) open.push(child);
    await yielder();
  }
  return found;
};

/** proc_pid_stat(5): the name, in parentheses, may contain any character. */
const readProcess = (pid: number): TreeProcess | undefined => {
  const text = readIfPresent(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (text === undefined) return undefined;
  const [state, parent, , session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { pid, parent: Number(parent), session: Number(session), hasEnded: state === 'Z' };
};

const readChildren = (pid: number): number[] => {
  const threads = readIfPresent(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  return threads.flatMap((thread) => {
    const text = readIfPresent(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')) ?? '';
    return text.split(' ').filter(Boolean).map(Number);
  });
};
