import { invalid } from '@skerry/contract/error';
import { parseEnvVars } from '../host/initialize.ts';
import type { SandboxLog } from '../sandbox-log.ts';
import type { Settings } from '../settings.ts';
import { parsePath } from '../system/path.ts';
import type { User } from '../system/users.ts';
import { createEnvironment } from './environment.ts';
import { ExecFailure } from './exec-failure.ts';
import { toExitStatus } from './exit-status.ts';
import type { OutputBudget } from './output/output-budget.ts';
import { createProcessOutput } from './output/process-output.ts';
import type { OutputLog } from './output-log.ts';
import { logProcess } from './process-log.ts';
import type { ProcessConfig, ProcessEntry, ProcessTable } from './process-table.ts';
import { createRunningProcess } from './running-process.ts';
import { spawnProcess } from './spawn-process.ts';
import type { TerminalSize } from './terminal-size.ts';
import { checkWorkingDirectory } from './working-directory.ts';

export interface StartOptions {
  table: ProcessTable;
  budget: OutputBudget;
  log: SandboxLog;
  outputLog: OutputLog;
  settings: Settings;
  user: User;
  config: ProcessConfig;
  tag: string | undefined;
  /** Whether stdin is a pipe. A terminal takes input whatever this says. */
  stdin: boolean;
  /** Undefined for pipes. */
  terminalSize: TerminalSize | undefined;
  /** Whether all output of pipes goes to the log, also what a caller reads. */
  logsOutput: boolean;
  /** The process is killed after this time. */
  lifetimeMs: number | undefined;
}

/** The kernel never gives a pid above 2^22 (PID_MAX_LIMIT), so these cannot meet a real one. */
let nextFakePid = 2 ** 22 + 1;

/** A program that could not be executed still has a start, a line on stderr or its terminal, and an end. */
const enterFailure = (options: StartOptions, failure: ExecFailure): ProcessEntry => {
  const { table, budget, config, tag, terminalSize } = options;
  const output = createProcessOutput({ budget, onHold: () => undefined });
  const entry: ProcessEntry = { pid: nextFakePid++, tag, output, config, running: undefined };
  if (terminalSize) output.write('pty', Buffer.from(`${failure.message}\r\n`));
  else output.write('stderr', Buffer.from(`${failure.message}\n`));
  const status = toExitStatus(failure.exitCode, null);
  output.end(status);
  logProcess(entry.pid, options)(status);
  table.add(entry);
  table.markEnded(entry);
  return entry;
};

/**
 * Starts a process and enters it in the table. A program that cannot be executed is entered as ended. Rejects with
 * `invalid_argument` for a bad `cwd`, `cmd` or variable name, and `resource_exhausted` when the sandbox has no room for another process.
 */
export const startProcess = async (options: StartOptions): Promise<ProcessEntry> => {
  const { table, budget, outputLog, settings, user, config, tag, stdin, terminalSize, lifetimeMs } = options;
  if (config.cmd === '') throw invalid('process.cmd must not be empty');
  const requested = parseEnvVars(config.envs, 'process.envs');
  const cwd = parsePath(config.cwd ?? '', { user, workdir: settings.defaultWorkdir });
  checkWorkingDirectory(cwd, user);
  const env = createEnvironment({ user, settings, requested });
  try {
    const program = { cmd: config.cmd, args: config.args, env, cwd, user };
    // Most sandboxes never open one.
    const spawned = terminalSize
      ? await (await import('./spawn-terminal.ts')).spawnTerminal(program, terminalSize)
      : await spawnProcess({ ...program, stdin });
    let lifetime: NodeJS.Timeout | undefined;
    const running = createRunningProcess(spawned, {
      budget,
      log: outputLog.of(spawned.pid),
      logsAll: options.logsOutput,
      onEnd(status) {
        clearTimeout(lifetime);
        table.markEnded(entry);
        logEnd(status);
      },
    });
    if (lifetimeMs !== undefined) lifetime = setTimeout(() => running.kill('SIGKILL'), lifetimeMs);
    const entry: ProcessEntry = { pid: spawned.pid, tag, output: running.output, config, running };
    table.add(entry);
    const logEnd = logProcess(entry.pid, options);
    return entry;
  } catch (error) {
    if (error instanceof ExecFailure) return enterFailure(options, error);
    throw error;
  }
};
