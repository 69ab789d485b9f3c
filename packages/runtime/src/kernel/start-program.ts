import { closeSync } from 'node:fs';
import { Socket } from 'node:net';
import { constants } from 'node:os';
import { findProgram, systemPath } from './find-program.ts';
import { reapChild, spawnChild } from './posix-spawn.ts';
import { inPrivateMounts } from './private-mounts.ts';
import { createPipe, SyscallError } from './syscalls.ts';

/** The exit status of a program, or the signal that ended it. */
export type ProgramEnd = number | NodeJS.Signals;

/** A program that this process has started. This process does not end before it, unless `unref` was called. */
export interface Program {
  readonly pid: number;
  /** Resolves when it has ended and is reaped. */
  readonly ended: Promise<ProgramEnd>;
  /** This process's ends of the pipes in `stdio`, at the same places. */
  readonly pipes: readonly (Socket | undefined)[];
  /** Sends SIGKILL, with `ownSession` to all of its process group; does nothing once it has ended. */
  kill(): void;
  ref(): void;
  unref(): void;
}

/** A descriptor of this process, /dev/null, or a pipe that the program reads (`input`) or writes (`output`). */
export type ProgramDescriptor = number | 'ignore' | 'input' | 'output';

export interface ProgramOptions {
  /** Looked up in the system's folders when it is a name alone, never in PATH. */
  file: string;
  args: readonly string[];
  /** The program's variables beside PATH. */
  env?: Readonly<Record<string, string>> | undefined;
  /** The program's descriptors from 0 on. It has no others. */
  stdio: readonly ProgramDescriptor[];
  /**
   * The `cgroup.procs` files that it is written into before it begins. It ends with `REFUSED_BY_CGROUP` when one
   * refuses.
   */
  memberFiles?: readonly string[] | undefined;
  /** Changes mounts in a copy that only the program sees; synchronous. What it throws is thrown by the start. */
  prepareMounts?: (() => void) | undefined;
  /**
   * The program leads a session and a process group of its own, so that a signal of the terminal does not
   * reach it.
   */
  ownSession?: boolean | undefined;
  /** Kills the program when it aborts. */
  signal?: AbortSignal | undefined;
}

/** The exit status of a program that a cgroup in `memberFiles` did not take. */
export const REFUSED_BY_CGROUP = 97;

/**
 * Starts a program in the namespaces of the calling thread and in the folder `/`, with no signal blocked or ignored.
 * Uses a shell only to join cgroups. Throws the reason of a signal that has aborted.
 * @throws SyscallError when it cannot be started
 */
export const startProgram = (options: ProgramOptions): Program => {
  const { stdio, signal } = options;
  signal?.throwIfAborted();
  const ours: (number | undefined)[] = [];
  const theirs: number[] = [];
  try {
    const descriptors = stdio.map((kind, place) => {
      if (kind !== 'input' && kind !== 'output') return kind;
      const { readFd, writeFd } = createPipe();
      const [near, far] = kind === 'input' ? [writeFd, readFd] : [readFd, writeFd];
      ours[place] = near;
      theirs.push(far);
      return far;
    });
    const pid = spawn(options, descriptors);
    const pipes = stdio.map((kind, place) => {
      const fd = ours[place];
      if (fd === undefined) return undefined;
      ours[place] = undefined;
      return new Socket({ fd, readable: kind === 'output', writable: kind === 'input' });
    });
    return watch(pid, pipes, options);
  } catch (error) {
    for (const fd of ours) if (fd !== undefined) closeSync(fd);
    throw error;
  } finally {
    for (const fd of theirs) closeSync(fd);
  }
};

/**
 * Runs a program to its end and blocks this thread meanwhile; kills it with its process group after `timeoutMs`.
 * @throws SyscallError when it cannot be started
 */
export const runProgramSync = (
  options: Omit<ProgramOptions, 'stdio' | 'signal' | 'ownSession'> & {
    stdio: readonly (number | 'ignore')[];
    timeoutMs: number;
  },
): { end: ProgramEnd; isLate: boolean } => {
  const pid = spawn({ ...options, ownSession: true }, options.stdio);
  const deadline = performance.now() + options.timeoutMs;
  let isLate = false;
  for (;;) {
    const end = reapChild(pid);
    if (end !== undefined) return { end, isLate };
    if (!isLate && performance.now() >= deadline) {
      isLate = true;
      process.kill(-pid, 'SIGKILL');
    }
    Atomics.wait(pause, 0, 0, 1);
  }
};

const pause = new Int32Array(new SharedArrayBuffer(4));

// A shell that becomes the program keeps its pid.
const joinScript = `
while [ "$1" != -- ]; do echo $$ > "$1" || exit ${REFUSED_BY_CGROUP}; shift; done
shift
exec "$@"
`;

const spawn = (
  options: Omit<ProgramOptions, 'stdio' | 'signal'>,
  stdio: readonly (number | 'ignore')[],
): number => {
  const { file, args, env, memberFiles = [], prepareMounts, ownSession = false } = options;
  const joining = ['sh', '-c', joinScript, 'sh', ...memberFiles, '--'];
  const path = toPath(file);
  const argv = memberFiles.length === 0 ? [file, ...args] : [...joining, path, ...args];
  const start = (): number =>
    spawnChild({
      path: memberFiles.length === 0 ? path : toPath('sh'),
      argv,
      env: { PATH: systemPath, ...env },
      stdio,
      ownSession,
    });
  return prepareMounts === undefined ? start() : inPrivateMounts(prepareMounts, start);
};

const toPath = (file: string): string => {
  const path = file.includes('/') ? file : findProgram(file);
  if (path === undefined) throw new SyscallError(`starting ${file}`, constants.errno.ENOENT);
  return path;
};

interface Watched {
  resolve(end: ProgramEnd): void;
  reject(error: unknown): void;
  isRef: boolean;
}

/** The programs that are not reaped yet, by pid. */
const running = new Map<number, Watched>();
let timer: NodeJS.Timeout | undefined;

const watch = (pid: number, pipes: Program['pipes'], options: ProgramOptions): Program => {
  const { ownSession, signal } = options;
  const { promise, resolve, reject } = Promise.withResolvers<ProgramEnd>();
  const watched: Watched = { resolve, reject, isRef: true };
  running.set(pid, watched);
  if (timer === undefined) {
    process.on('SIGCHLD', collect);
    // Node may end while it only listens for signals: the timer keeps it alive.
    timer = setInterval(collect, KEEP_ALIVE_MS);
  }
  updateRef();
  // Collect once now: the program may have ended before the listener was there.
  setImmediate(collect);
  const kill = (): void => {
    if (running.has(pid)) process.kill(ownSession ? -pid : pid, 'SIGKILL');
  };
  signal?.addEventListener('abort', kill, { once: true });
  const ended = promise.finally(() => {
    signal?.removeEventListener('abort', kill);
    // After the listeners of `ended`, which may begin to read.
    setImmediate(() => closeUnread(pipes));
  });
  // A caller that only kills does not wait for the end.
  ended.catch(() => undefined);
  const setRef = (isRef: boolean): void => {
    watched.isRef = isRef;
    updateRef();
  };
  return { pid, ended, pipes, kill, ref: () => setRef(true), unref: () => setRef(false) };
};

const KEEP_ALIVE_MS = 1_000;

/** Closes the pipes of a program that has ended and that nothing reads any more. */
const closeUnread = (pipes: Program['pipes']): void => {
  for (const pipe of pipes) {
    if (pipe?.writable) pipe.destroy();
    // A pipe is closed at its end, which it reaches only when it is read.
    else if (pipe?.readableFlowing === null) pipe.resume();
  }
};

const updateRef = (): void => {
  if ([...running.values()].some(({ isRef }) => isRef)) timer?.ref();
  else timer?.unref();
};

/** Reaps the programs that have ended. One SIGCHLD may stand for several. */
const collect = (): void => {
  for (const [pid, { resolve, reject }] of running) {
    try {
      const end = reapChild(pid);
      if (end === undefined) continue;
      running.delete(pid);
      resolve(end);
    } catch (error) {
      running.delete(pid);
      reject(error);
    }
  }
  updateRef();
  if (running.size > 0) return;
  process.off('SIGCHLD', collect);
  clearInterval(timer);
  timer = undefined;
};
