import { invalid } from '@skerry/contract/error';
import { parseEnvVars } from '../initialize.ts';
import { parsePath } from '../path.ts';
import type { Settings } from '../settings.ts';
import type { User } from '../users.ts';
import { createEnvironment } from './environment.ts';
import { type ExitStatus, toExitStatus } from './exit-status.ts';
import type { ProcessConfig, ProcessEntry, ProcessTable } from './process-table.ts';
import { createRunningProcess, type RunningProcess } from './running-process.ts';
import { ExecFailure, spawnProcess } from './spawn-process.ts';
import { checkWorkingDirectory } from './working-directory.ts';

/** A program that could not be executed still has a start, a line on stderr and an end. */
export interface FailedStart {
  pid: number;
  message: string;
  end: ExitStatus;
}

export interface StartOptions {
  table: ProcessTable;
  settings: Settings;
  user: User;
  config: ProcessConfig;
  tag: string | undefined;
  stdin: boolean;
  /** The process is killed after this time. */
  lifetimeMs: number | undefined;
}

/** The kernel never gives a pid above 2^22 (PID_MAX_LIMIT), so these cannot meet a real one. */
let nextFakePid = 2 ** 22 + 1;

const enterFailure = ({ table, config, tag }: StartOptions, failure: ExecFailure): FailedStart => {
  const entry: ProcessEntry = { pid: nextFakePid++, tag, config, running: undefined, end: undefined };
  const end = toExitStatus(failure.exitCode, null);
  table.add(entry);
  table.markEnded(entry, end);
  return { pid: entry.pid, message: `${failure.message}\n`, end };
};

/**
 * Starts a process and enters it in the table. Throws `invalid_argument` for a bad `cwd`, `cmd` or variable name, and
 * `resource_exhausted` when the sandbox has no room for another process.
 */
export const startProcess = async (
  options: StartOptions,
): Promise<FailedStart | { running: RunningProcess }> => {
  const { table, settings, user, config, tag, stdin, lifetimeMs } = options;
  if (config.cmd === '') throw invalid('process.cmd must not be empty');
  const requested = parseEnvVars(config.envs, 'process.envs');
  const cwd = parsePath(config.cwd ?? '', { user, workdir: settings.defaultWorkdir });
  checkWorkingDirectory(cwd, user);
  const env = createEnvironment({ user, settings, requested });
  try {
    const spawned = await spawnProcess({ cmd: config.cmd, args: config.args, env, cwd, user, stdin });
    let lifetime: NodeJS.Timeout | undefined;
    const running = createRunningProcess(spawned, {
      onEnd(status) {
        clearTimeout(lifetime);
        table.markEnded(entry, status);
      },
    });
    if (lifetimeMs !== undefined) lifetime = setTimeout(() => running.kill('SIGKILL'), lifetimeMs);
    const entry: ProcessEntry = { pid: spawned.pid, tag, config, running, end: undefined };
    table.add(entry);
    return { running };
  } catch (error) {
    if (error instanceof ExecFailure) return enterFailure(options, error);
    throw error;
  }
};
