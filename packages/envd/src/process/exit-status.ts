import { constants } from 'node:os';

/** How a process ended, in the words of the protocol. */
export interface ExitStatus {
  /** -1 when a signal ended it. */
  exitCode: number;
  exited: boolean;
  status: string;
  /** Present only when the exit code is not 0. */
  error?: string;
  /** Number of the signal that ended it; absent after an exit. */
  skerrySignal?: number;
}

/** The texts of strsignal(3) in lower case, which clients show and compare. */
const SIGNAL_TEXTS: Readonly<Record<string, string>> = {
  SIGHUP: 'hangup',
  SIGINT: 'interrupt',
  SIGQUIT: 'quit',
  SIGILL: 'illegal instruction',
  SIGTRAP: 'trace/breakpoint trap',
  SIGABRT: 'aborted',
  SIGBUS: 'bus error',
  SIGFPE: 'floating point exception',
  SIGKILL: 'killed',
  SIGUSR1: 'user defined signal 1',
  SIGSEGV: 'segmentation fault',
  SIGUSR2: 'user defined signal 2',
  SIGPIPE: 'broken pipe',
  SIGALRM: 'alarm clock',
  SIGTERM: 'terminated',
  SIGSTKFLT: 'stack fault',
  SIGXCPU: 'cpu time limit exceeded',
  SIGXFSZ: 'file size limit exceeded',
  SIGVTALRM: 'virtual timer expired',
  SIGPROF: 'profiling timer expired',
  SIGIO: 'i/o possible',
  SIGPWR: 'power failure',
  SIGSYS: 'bad system call',
};

/** The first that programs may use: the C library keeps two for itself (signal(7)). */
const SIGRTMIN = 34;

const toSignalText = (signal: string | number): string => {
  if (typeof signal === 'string') return SIGNAL_TEXTS[signal] ?? signal.toLowerCase();
  return signal < SIGRTMIN ? `signal ${signal}` : `real-time signal ${signal - SIGRTMIN}`;
};

/**
 * Converts what `ChildProcess` reports with its `exit` event. A signal without a name is given by its number;
 * a code beside a signal means nothing.
 */
export const toExitStatus = (code: number | null, signal: NodeJS.Signals | number | null): ExitStatus => {
  if (signal !== null) {
    const status = `signal: ${toSignalText(signal)}`;
    const skerrySignal = typeof signal === 'string' ? constants.signals[signal] : signal;
    return { exitCode: -1, exited: false, status, error: status, skerrySignal };
  }
  const status = `exit status ${code}`;
  return code === 0 || code === null
    ? { exitCode: 0, exited: true, status }
    : { exitCode: code, exited: true, status, error: status };
};
