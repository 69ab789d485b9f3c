import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, fchownSync, realpathSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { ApiError, invalid } from '@skerry/contract/error';
import { createPipe, withGroups } from '../system/libc.ts';
import type { User } from '../system/users.ts';
import { ExecFailure, notFound } from './exec-failure.ts';
import { holdExitSignal } from './exit-signal.ts';
import { type ExitStatus, toExitStatus } from './exit-status.ts';
import { addChild } from './live-children.ts';
import { withOomScore } from './oom-score.ts';
import { readInto } from './output/read-into.ts';
import type { Terminal } from './terminal.ts';
import { isReachable } from './working-directory.ts';
import { yieldToAgent } from './yield-to-agent.ts';

export interface SpawnOptions {
  cmd: string;
  args: readonly string[];
  env: Record<string, string>;
  cwd: string;
  user: User;
}

/** One pipe or terminal that a process writes to. */
export interface Output {
  kind: 'stdout' | 'stderr' | 'pty';
  /** Called once. The bytes that `onBytes` is called with hold only until it returns. */
  open(onBytes: (bytes: Uint8Array) => void): Socket;
}

/** A process that was just spawned. */
export interface Spawned {
  pid: number;
  stdin: Socket | undefined;
  terminal?: Terminal;
  /** What it writes to. Each closes when no process has it open any more. */
  outputs: readonly Output[];
  /** Calls back once, never before the next turn. */
  onExit(listener: (status: ExitStatus) => void): void;
  /** Signals this process only; does nothing when it is gone. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): void;
}

/** A folder of PATH that the user may not enter also counts as a refusal for execvp(3), but not for a shell. */
const isFound = ({ cmd, env, user }: SpawnOptions): boolean => {
  if (cmd.includes('/')) return true;
  const folders = (env.PATH ?? '').split(':').filter((folder) => existsSync(join(folder, cmd)));
  return folders.some((folder) => isReachable(realpathSync(folder), user));
};

/** The error that a caller gets for an error of this module or of Node. */
export const toSpawnError = (error: NodeJS.ErrnoException, options: SpawnOptions): Error => {
  const { cmd } = options;
  switch (error.code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return notFound(cmd);
    case 'EACCES':
    case 'EPERM':
      return isFound(options) ? new ExecFailure(126, `${cmd}: Permission denied`) : notFound(cmd);
    case 'ENOEXEC':
      return new ExecFailure(126, `${cmd}: cannot execute binary file: Exec format error`);
    case 'E2BIG':
      return new ExecFailure(126, `${cmd}: Argument list too long`);
    case 'ELOOP':
      return new ExecFailure(126, `${cmd}: Too many levels of symbolic links`);
    case 'ENAMETOOLONG':
      return new ExecFailure(126, `${cmd}: File name too long`);
    case 'EAGAIN':
    case 'ENOMEM':
    case 'EMFILE':
    case 'ENFILE':
      return new ApiError('resource_exhausted', `cannot start a process: ${error.code}`, { cause: error });
    case 'ERR_INVALID_ARG_VALUE':
      return invalid('cmd, args and envs must not contain NUL bytes, and cmd must not be empty', {
        cause: error,
      });
    default:
      return new ApiError('internal', `cannot start a process: ${error.code ?? 'unknown error'}`, {
        cause: error,
      });
  }
};

/** Returns nothing for the ids of this process: libuv then leaves its groups alone. */
const credentialsOf = ({ uid, gid }: User): { uid?: number; gid?: number } =>
  uid === process.getuid?.() && gid === process.getgid?.() ? {} : { uid, gid };

/** Starts a program with the credentials of a user. Rejects with what Node reports. */
export const spawnChild = async (
  { cmd, args, env, cwd, user }: SpawnOptions,
  how: { stdio: [number | 'ignore', number, number]; detached?: boolean },
): Promise<Pick<Spawned, 'pid' | 'onExit' | 'kill'>> => {
  const run = (): ChildProcess =>
    withOomScore(() => spawn(cmd, args, { cwd, env, ...how, ...credentialsOf(user) }));
  const child = user.uid !== 0 && user.groups.length > 0 ? withGroups(user, run) : run();
  // Node reports a failed exec on the next turn.
  if (child.pid === undefined) throw (await once(child, 'error'))[0];
  // Emitted when a signal cannot be sent; the caller of kill needs no error.
  child.on('error', () => undefined);
  yieldToAgent(child.pid);
  const readExitSignal = holdExitSignal(child.pid);
  const listeners: ((status: ExitStatus) => void)[] = [];
  const noteExit = addChild(child.pid);
  child.once('exit', (code, signal) => {
    noteExit();
    const number = readExitSignal();
    const status = toExitStatus(code, signal ?? number ?? null);
    for (const listener of listeners) listener(status);
  });
  return {
    pid: child.pid,
    onExit(listener) {
      listeners.push(listener);
    },
    kill: (signal) => child.kill(signal),
  };
};

const openPipe = (fd: number, onBytes: (bytes: Uint8Array) => void): Socket =>
  new Socket({ fd, readable: true, writable: false, ...readInto(onBytes) });

/**
 * Starts a program with the credentials of a user and pipes of its own; nothing runs through a shell. Without `stdin` its
 * standard input is /dev/null. The caller has checked `cwd`. Rejects with `ExecFailure` when the program is missing or not
 * executable, else with `ApiError`.
 */
export const spawnProcess = async (options: SpawnOptions & { stdin: boolean }): Promise<Spawned> => {
  const fds: number[] = [];
  const keep = (pipe: { readFd: number; writeFd: number }) => {
    fds.push(pipe.readFd, pipe.writeFd);
    // Opening /dev/stdout checks the owner of the pipe.
    if (options.user.uid !== 0) fchownSync(pipe.readFd, options.user.uid, options.user.gid);
    return pipe;
  };
  try {
    const input = options.stdin ? keep(createPipe()) : undefined;
    const output = keep(createPipe());
    const errors = keep(createPipe());
    const stdio: [number | 'ignore', number, number] = [
      input?.readFd ?? 'ignore',
      output.writeFd,
      errors.writeFd,
    ];
    const child = await spawnChild(options, { stdio });
    const mine = [input?.writeFd, output.readFd, errors.readFd];
    for (const fd of fds.splice(0)) if (!mine.includes(fd)) closeSync(fd);
    return {
      pid: child.pid,
      stdin: input && new Socket({ fd: input.writeFd, readable: false, writable: true }),
      outputs: [
        { kind: 'stdout', open: (onBytes) => openPipe(output.readFd, onBytes) },
        { kind: 'stderr', open: (onBytes) => openPipe(errors.readFd, onBytes) },
      ],
      onExit: child.onExit,
      kill: child.kill,
    };
  } catch (error) {
    for (const fd of fds) closeSync(fd);
    throw toSpawnError(error as NodeJS.ErrnoException, options);
  }
};
