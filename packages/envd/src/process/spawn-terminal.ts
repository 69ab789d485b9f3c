import { chownSync } from 'node:fs';
import { constants } from 'node:os';
import { ReadStream } from 'node:tty';
import { ApiError, invalid } from '@skerry/contract/error';
import { duplicateFd, setCloseOnExec, withGroups } from '../libc.ts';
import { checkProgram } from './check-program.ts';
import { type ExitStatus, toExitStatus } from './exit-status.ts';
import { withOomScore } from './oom-score.ts';
import * as addon from './pty-addon.ts';
import { credentialsOf, type Spawned, type SpawnOptions } from './spawn-process.ts';
import { createTerminal } from './terminal.ts';
import type { TerminalSize } from './terminal-size.ts';

const signalName = (number: number): string =>
  Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;

const assertNoNul = (texts: readonly string[]): void => {
  if (texts.some((text) => text.includes('\0'))) {
    throw invalid('cmd, args and envs must not contain NUL bytes');
  }
};

const fork = (
  { cmd, args, cwd, user }: SpawnOptions,
  variables: readonly string[],
  { cols, rows }: TerminalSize,
  onExit: (status: ExitStatus) => void,
) => {
  const { uid = -1, gid = -1 } = credentialsOf(user);
  const run = () => {
    try {
      return withOomScore(() =>
        addon.fork(cmd, args, variables, cwd, cols, rows, uid, gid, true, '', (code, signal) =>
          onExit(signal === 0 ? toExitStatus(code, null) : toExitStatus(null, signalName(signal))),
        ),
      );
    } catch (cause) {
      throw new ApiError('resource_exhausted', 'cannot open a terminal or start a process on it', { cause });
    }
  };
  // Also for a user without any: the child would keep those of the agent.
  return user.uid === 0 ? run() : withGroups(user, run);
};

const sendSignal = (pid: number, signal: 'SIGKILL' | 'SIGTERM'): void => {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended a moment ago, and the news is on its way.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
};

/**
 * Starts a program on a new terminal that it controls, in a session of its own, with the credentials of a user who owns the
 * terminal. Like `spawnProcess` otherwise.
 */
export const spawnTerminal = (options: SpawnOptions, size: TerminalSize): Spawned => {
  const { cmd, args, env, cwd, user } = options;
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  assertNoNul([cmd, ...args, ...variables]);
  checkProgram({ cmd, cwd, path: env.PATH ?? '', user });

  const exited = Promise.withResolvers<ExitStatus>();
  const { fd, pid, pty } = fork(options, variables, size, exited.resolve);
  setCloseOnExec(fd);
  // Programs open it by name; its group, tty, and its mode are those of the file system. -1 leaves the group.
  if (user.uid !== 0) chownSync(pty, user.uid, -1);
  // Reading ends when no program has the terminal open, which a program may do before its end: then closing the last
  // descriptor would end it with SIGHUP.
  const terminal = createTerminal(duplicateFd(fd), { pid, resize: addon.resize });
  let isGone = false;
  void exited.promise.then(() => {
    isGone = true;
    terminal.close();
  });
  return {
    pid,
    stdin: undefined,
    terminal,
    outputs: [{ kind: 'pty', stream: new ReadStream(fd) }],
    onExit: (listener) => void exited.promise.then(listener),
    kill(signal) {
      if (!isGone) sendSignal(pid, signal);
    },
  };
};
