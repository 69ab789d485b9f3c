import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { RuntimeError } from '../../error.ts';
import { systemPath } from '../../run-command.ts';
import { findClosedWays, openWays } from './open-way.ts';
import { inPrivateMounts } from './private-mounts.ts';
import { watchOomKills } from './watch-oom-kills.ts';

/**
 * Runs one command of an OCI runtime to its end. Rejects with `internal`, and with what the runtime wrote to its log,
 * when it fails; with `exhausted` when somebody else killed it, or the kernel a process for want of memory.
 */
export const runOciProgram = async (options: {
  program: string;
  args: readonly string[];
  stdio: StdioOptions;
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
  const { program, args, stdio, env, cover, signal } = options;
  const begin = (): ChildProcess =>
    spawn(program, args, { stdio, env: { PATH: systemPath, ...env }, signal, killSignal: 'SIGKILL' });
  const ways = findClosedWays(options.passes);
  const prepare = (): void => {
    cover?.();
    openWays(ways);
  };
  const wasShort = watchOomKills();
  const isPlain = cover === undefined && ways.size === 0;
  const child = isPlain ? begin() : inPrivateMounts(prepare, begin);
  const code = await new Promise<number | string>((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (exitCode, by) => resolve(exitCode ?? by ?? ''));
  });
  if (code === 0) return;
  if (code === 'SIGKILL' && !signal.aborted)
    throw new RuntimeError('exhausted', `${basename(program)} was killed, as on a host without memory`);
  const log = await readFile(options.log, 'utf8').catch(() => '');
  const reason = `${basename(program)} exited with ${code}: ${log.trim().slice(-2000)}`;
  throw new RuntimeError(wasShort() ? 'exhausted' : 'internal', reason);
};
