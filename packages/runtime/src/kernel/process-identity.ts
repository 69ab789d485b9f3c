import { readFileSync } from 'node:fs';

/** Identifies a process, also against a later one with the same pid. */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks from the boot of the host to the start of the process. */
  startTicks: number;
}

// proc(5), /proc/pid/stat: fields 3 and 22, counted from the end of the name, which may contain any character.
const STATE = 0;
const START_TIME = 19;

/** Undefined when there is no such process, or only a zombie. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    // The process has ended; any other error means the same here.
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return /[ZX]/.test(fields[STATE] ?? 'X') ? undefined : { pid, startTicks: Number(fields[START_TIME]) };
}

export const isAlive = ({ pid, startTicks }: ProcessIdentity): boolean =>
  identifyProcess(pid)?.startTicks === startTicks;

/** Returns the id of this boot of the host: pids and start times begin anew with each. */
export const readBootId = (): string => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
