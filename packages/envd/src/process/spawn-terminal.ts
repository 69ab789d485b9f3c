import { closeSync, fchownSync } from 'node:fs';
import { ReadStream } from 'node:tty';
import { duplicateFd } from '../system/libc.ts';
import { findProgram } from './find-program.ts';
import { openPty } from './open-pty.ts';
import { readInto } from './output/read-into.ts';
import { type Spawned, type SpawnOptions, spawnChild, toSpawnError } from './spawn-process.ts';
import { createTerminal } from './terminal.ts';
import { launcherPath } from './terminal-launcher.ts';
import type { TerminalSize } from './terminal-size.ts';

/**
 * Starts a program on a new terminal that it controls, in a session of its own, with the credentials of a user who owns the
 * terminal. Like `spawnProcess` otherwise.
 */
export const spawnTerminal = async (options: SpawnOptions, size: TerminalSize): Promise<Spawned> => {
  const { cmd, args, env, cwd, user } = options;
  const program = findProgram({ cmd, cwd, path: env.PATH ?? '', user });
  const fds: number[] = [];
  const keep = (fd: number): number => {
    fds.push(fd);
    return fd;
  };
  try {
    const { masterFd, slaveFd } = openPty(size);
    keep(masterFd);
    keep(slaveFd);
    // A second one: reading ends when no program has the terminal open, which a program may do before its end, and then
    // closing the last descriptor of this side would end it with SIGHUP.
    const controlFd = keep(duplicateFd(masterFd));
    // Programs open it by name; its group, tty, and its mode are those of the file system. -1 leaves the group.
    if (user.uid !== 0) fchownSync(slaveFd, user.uid, -1);
    const launched = { ...options, cmd: launcherPath(), args: [program, cmd, ...args] };
    const child = await spawnChild(launched, { stdio: [slaveFd, slaveFd, slaveFd], detached: true });
    fds.length = 0;
    closeSync(slaveFd);
    const terminal = createTerminal(controlFd, child.pid);
    child.onExit(() => terminal.close());
    return {
      pid: child.pid,
      stdin: undefined,
      terminal,
      outputs: [{ kind: 'pty', open: (onBytes) => new ReadStream(masterFd, readInto(onBytes)) }],
      onExit: child.onExit,
      kill: child.kill,
    };
  } catch (error) {
    for (const fd of fds) closeSync(fd);
    throw toSpawnError(error as NodeJS.ErrnoException, options);
  }
};
