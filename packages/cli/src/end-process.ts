import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from '@skerry/runtime';

/** Sends a signal to that very process; does nothing when it has ended, and its number is another one's by now. */
export function signalIdentified(target: ProcessIdentity, signal: NodeJS.Signals): void {
  if (!isAlive(target)) return;
  try {
    process.kill(target.pid, signal);
  } catch (error) {
    // It ended between the look and the signal, which is what was wanted.
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
