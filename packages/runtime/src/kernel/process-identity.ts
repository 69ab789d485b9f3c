import { readFileSync } from 'node:fs';

/** A process, told from a later one that was given the same number. */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks from the boot of the host to its start. */
  startTicks: number;
}

// proc(5), /proc/pid/stat: fields 3 and 22, counted from behind the name, which may hold anything.
const STATE = 0;
const START_TIME = 19;

/** Undefined when there is no such process, or nothing of it but its number. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // It is gone, whatever the reason that it cannot be read.
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return /[ZX]/.test(fields[STATE] ?? 'X') ? undefined : { pid, startTicks: Number(fields[START_TIME]) };
}

export const isAlive = ({ pid, startTicks }: ProcessIdentity): boolean =>
  identifyProcess(pid)?.startTicks === startTicks;
