import { readdirSync, readFileSync } from 'node:fs';
import { createYielder } from '../../../../concurrency/yielder.ts';
import { orNothing } from '../../../../kernel/or-nothing.ts';

/** One process of a sandbox, which may have ended without its parent having asked how. Numbers are the host's. */
export interface TreeProcess {
  pid: number;
  parent: number;
  /** The number of the process that leads its session, also when that one is gone. */
  session: number;
  hasEnded: boolean;
}

/**
 * All processes under the first one, that one first. To be called when none of them runs; leaves out what is gone. There may be
 * as many as code inside could start: others have their turn meanwhile.
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

/** proc_pid_stat(5): the name, in brackets, may have anything in it. */
const readProcess = (pid: number): TreeProcess | undefined => {
  const text = orNothing(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  if (text === undefined) return undefined;
  const [state, parent, , session] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { pid, parent: Number(parent), session: Number(session), hasEnded: state === 'Z' };
};

const readChildren = (pid: number): number[] => {
  const threads = orNothing(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  return threads.flatMap((thread) => {
    const text = orNothing(() => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8')) ?? '';
    return text.split(' ').filter(Boolean).map(Number);
  });
};
