import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { RuntimeError } from '../../../error.ts';
import { findClosedFolders, openClosedFolders } from '../../../kernel/closed-folders.ts';
import { type ProgramOptions, REFUSED_BY_CGROUP, startProgram } from '../../../kernel/start-program.ts';
import { watchOomKills } from '../cgroup/watch-oom-kills.ts';

/**
 * Runs one command of an OCI runtime to its end. Rejects with `internal`, and with the log of the runtime, when it
 * fails; with `exhausted` when another process killed it, or the kernel killed a process for want of memory; with the
 * reason of the signal. The command has ended by then.
 */
export const runOciProgram = async (options: {
  program: string;
  args: readonly string[];
  /** The `cgroup.procs` files of the cgroups that the program runs in; none for this process's own. */
  memberFiles?: readonly string[];
  stdio: ProgramOptions['stdio'];
  /** Variables beside PATH. */
  env?: Readonly<Record<string, string>>;
  /** Folders that root inside, an unprivileged id on the host, must be able to reach. */
  passes: readonly string[];
  /** Changes the mounts that the program sees; the host's own stay as they are. */
  cover?: (() => void) | undefined;
  /** The log file of the program. */
  log: string;
  signal: AbortSignal;
}): Promise<void> => {
  const { program, args, memberFiles = [], stdio, env, cover, signal } = options;
  signal.throwIfAborted();
  const ways = findClosedFolders(options.passes);
  const prepare = (): void => {
    cover?.();
    openClosedFolders(ways);
  };
  const wasShort = watchOomKills(memberFiles[0] && dirname(memberFiles[0]));
  const isPlain = cover === undefined && ways.size === 0;
  const prepareMounts = isPlain ? undefined : prepare;
  const code = await startProgram({ file: program, args, env, stdio, memberFiles, prepareMounts, signal })
    .ended;
  if (code === 0) return;
  signal.throwIfAborted();
  if (code === 'SIGKILL')
    throw new RuntimeError('exhausted', `${basename(program)} was killed, as on a host without free memory`);
  if (code === REFUSED_BY_CGROUP)
    throw new RuntimeError(
      'internal',
      `the kernel refuses ${basename(program)} in a cgroup of ${memberFiles.join(', ')}`,
    );
  const log = await readFile(options.log, 'utf8').catch(() => '');
  const reason = `${basename(program)} exited with ${code}: ${log.trim().slice(-2000)}`;
  throw new RuntimeError(wasShort() ? 'exhausted' : 'internal', reason);
};
