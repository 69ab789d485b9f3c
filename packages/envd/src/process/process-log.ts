import type { SandboxLog } from '../sandbox-log.ts';
import type { ExitStatus } from './exit-status.ts';

/** The process to report, and the logs that get the entries. */
export interface ProcessLogOptions {
  log: SandboxLog;
  user: { name: string };
  config: { cmd: string; args: readonly string[] };
  tag: string | undefined;
}

const MAX_COMMAND_LENGTH = 500;
const MAX_TAG_LENGTH = 100;

const toFields = (pid: number, { user, config, tag }: ProcessLogOptions): Record<string, string> => {
  let command = config.cmd;
  for (const arg of config.args) {
    if (command.length > MAX_COMMAND_LENGTH) break;
    command += ` ${arg}`;
  }
  return {
    pid: String(pid),
    cmd: command.length > MAX_COMMAND_LENGTH ? `${command.slice(0, MAX_COMMAND_LENGTH)}…` : command,
    user: user.name,
    ...(tag === undefined ? {} : { tag: tag.slice(0, MAX_TAG_LENGTH) }),
  };
};

/** Logs the start of a process. The returned function logs its end. */
export const logProcess = (pid: number, options: ProcessLogOptions): ((status: ExitStatus) => void) => {
  const { log } = options;
  const fields = toFields(pid, options);
  log.write({ level: 'info', logger: 'process', message: 'process started', fields });
  return ({ exitCode, status }) =>
    log.write({
      level: 'info',
      logger: 'process',
      message: 'process ended',
      fields: { ...fields, exitCode: String(exitCode), status },
    });
};
