import { readFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { RuntimeError } from '../../../error.ts';
import { findClosedWays, openWays } from '../../../kernel/open-way.ts';
import { inPrivateMounts } from '../../../kernel/private-mounts.ts';
import { systemPath } from '../../../kernel/run-command.ts';
import { type Program, type ProgramOptions, startProgram } from '../../../kernel/start-program.ts';
import { watchOomKills } from '../cgroup/watch-oom-kills.ts';

/**
 * Runs one command of an OCI runtime to its end. Rejects with `internal`, and with what the runtime wrote to its log,
 * when it fails; with `exhausted` when somebody else killed it, or the kernel a process for want of memory; with the reason of the
 * signal. It has ended by then.
 */
export const runOciProgram = async (options: {
  program: string;
  args: readonly string[];
  /** The files that take the members of the cgroups that the program runs in; none for this process's own. */
  memberFiles?: readonly string[];
  stdio: ProgramOptions['stdio'];
  /** Beside PATH. */
  env?: Readonly<Record<string, string>>;
  /** Folders that root inside, who is nobody on the host, must be able to reach. */
  passes: readonly string[];
  /** Changes what the program sees of the host's mounts; theirs stay as they are. */
  cover?: (() => void) | undefined;
  /** The file that the program was told to log to. */
  log: string;
  signal: AbortSignal;
}): Promise<void> => {
  const { program, args, memberFiles = [], stdio, env, cover, signal } = options;
  signal.throwIfAborted();
  const begin = (): Program =>
    startProgram({ ...toCommand(program, args, memberFiles), env: { PATH: systemPath, ...env }, stdio });
  const ways = findClosedWays(options.passes);
  const prepare = (): void => {
    cover?.();
    openWays(ways);
  };
  const wasShort = watchOomKills(memberFiles[0] && dirname(memberFiles[0]));
  const isPlain = cover === undefined && ways.size === 0;
  const child = isPlain ? begin() : inPrivateMounts(prepare, begin);
  const kill = (): void => child.kill();
  signal.addEventListener('abort', kill);
  const code = await child.ended.finally(() => signal.removeEventListener('abort', kill));
  if (code === 0) return;
  signal.throwIfAborted();
  if (code === 'SIGKILL')
    throw new RuntimeError('exhausted', `${basename(program)} was killed, as on a host without memory`);
  if (code === REFUSED)
    throw new RuntimeError(
      'internal',
      `the kernel lets ${basename(program)} into no cgroup of ${memberFiles.join(', ')}`,
    );
  const log = await readFile(options.log, 'utf8').catch(() => '');
  const reason = `${basename(program)} exited with ${code}: ${log.trim().slice(-2000)}`;
  throw new RuntimeError(wasShort() ? 'exhausted' : 'internal', reason);
};

/** No program of an OCI runtime exits with that. */
const REFUSED = 97;

// The number of a shell is that of the program which it becomes.
const joinScript = `
while [ "$1" != -- ]; do echo $$ > "$1" || exit ${REFUSED}; shift; done
shift
exec "$@"
`;

const toCommand = (
  program: string,
  args: readonly string[],
  memberFiles: readonly string[],
): Pick<ProgramOptions, 'file' | 'args'> =>
  memberFiles.length === 0
    ? { file: program, args }
    : { file: 'sh', args: ['-c', joinScript, 'sh', ...memberFiles, '--', program, ...args] };
