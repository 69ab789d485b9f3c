import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from '@skerry/runtime';

/** Sends a signal to exactly that process; does nothing when it has ended, and its pid may belong to another one. */
export function signalIdentified(target: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(target)) return;
  try {
    process.kill(target.pid, signal);
  } catch (error) {
    // The process ended between the check and the signal, which is the goal.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Resolves with whether the process has ended within the time. */
export async function hasEndedWithin(target: ProcessIdentity, ms: number): Promise<boolean> {
  for (const deadline = performance.now() + ms; isAlive(target); await delay(20)) {
    if (performance.now() >= deadline) return false;
  }
  return true;
}
