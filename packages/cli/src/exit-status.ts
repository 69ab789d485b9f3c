import { constants } from 'node:os';
import type { PtyResult } from '@skerry/sdk';

/** skerry itself failed, not the command: the statuses of `docker run` and of chroot(1). The shell inside gives 126 and 127. */
export const OWN_FAILURE = 125;

/** The command outlived its time: the status of timeout(1). */
export const TIMED_OUT = 124;

/** What the shells of the field answer for a program that a signal ended. */
export const toSignalStatus = (signal: NodeJS.Signals | number): number =>
  128 + (typeof signal === 'number' ? signal : constants.signals[signal]);

/** The status that stands for the end of a command: its own, or 128 and the number of the signal. */
export function toExitStatus({ exitCode, signal }: PtyResult): number {
  if (signal !== undefined) return toSignalStatus(signal);
  // A server that does not report the number.
  return exitCode < 0 ? toSignalStatus('SIGKILL') : exitCode;
}
