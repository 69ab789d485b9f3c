import { RuntimeError } from '../error.ts';
import { type Program, type ProgramEnd, startProgram } from './start-program.ts';

export interface Command {
  /** Looked up in the system's folders when it is a name alone, never in PATH. */
  file: string;
  args: readonly string[];
  /** Written to stdin; stdin is empty without it. */
  input?: string | undefined;
  /** Open descriptors that the command gets as 3, 4, … */
  fds?: readonly number[];
  env?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /** The exit codes of success. Default: 0 alone. */
  exitCodes?: readonly number[];
  /** Default 30 s; then the command is killed. */
  timeoutMs?: number;
}

/** A command that ran and failed. */
export class CommandError extends RuntimeError {
  readonly end: ProgramEnd;
  readonly stdout: string;

  constructor(command: Command, outcome: { end: ProgramEnd; stdout: string; stderr: string }) {
    const { end, stdout, stderr } = outcome;
    const how = typeof end === 'number' ? `exited with ${end}` : `was ended by ${end}`;
    super('internal', `${command.file} ${how}: ${stderr.trim()}`);
    this.name = 'CommandError';
    this.end = end;
    this.stdout = stdout;
  }
}

const STDOUT_LIMIT = 1 << 20;
const STDERR_LIMIT = 4096;

/**
 * Runs one command without a shell and resolves with its stdout, of which it keeps the first MiB. Rejects with
 * `unavailable` on abort, with `exhausted` when another process or the kernel killed the command, and otherwise with
 * `internal`: a `CommandError` with the end of stderr when it failed. The command and its process group have ended by
 * then.
 */
export async function runCommand(command: Command): Promise<string> {
  const { file, signal, exitCodes = [0], timeoutMs = 30_000 } = command;
  if (signal?.aborted)
    throw new RuntimeError('unavailable', `${file} was not started: aborted`, { cause: signal.reason });
  const program = start(command);
  let isLate = false;
  const stop = (): void => {
    program.kill();
    // A process that left the group may still hold the output open.
    const closeOutput = (): void => program.pipes.forEach((pipe) => void pipe?.destroy());
    program.ended.then(closeOutput, closeOutput);
  };
  const timer = setTimeout(() => {
    isLate = true;
    stop();
  }, timeoutMs);
  signal?.addEventListener('abort', stop, { once: true });
  try {
    const [end, stdout, stderr] = await Promise.all([
      program.ended,
      collect(program, 1, (kept, text) => (kept.length < STDOUT_LIMIT ? kept + text : kept)),
      collect(program, 2, (kept, text) => (kept + text).slice(-STDERR_LIMIT)),
    ]);
    if (signal?.aborted)
      throw new RuntimeError('unavailable', `${file} was aborted`, { cause: signal.reason });
    if (isLate)
      throw new RuntimeError('internal', `${file} did not end within ${timeoutMs} ms: ${stderr.trim()}`);
    if (typeof end === 'number' && exitCodes.includes(end)) return stdout;
    if (end === 'SIGKILL')
      throw new RuntimeError('exhausted', `${file} was killed, as on a host without free memory`);
    throw new CommandError(command, { end, stdout, stderr });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

const start = ({ file, args, input, fds = [], env }: Command): Program => {
  try {
    const program = startProgram({
      file,
      args,
      env: { LC_ALL: 'C', ...env },
      stdio: [input === undefined ? 'ignore' : 'input', 'output', 'output', ...fds],
      ownSession: true,
    });
    const [stdin] = program.pipes;
    // A command that exits without reading its stdin is judged by its exit, not by the broken pipe.
    stdin?.on('error', () => undefined).end(input ?? '');
    return program;
  } catch (error) {
    throw new RuntimeError('internal', `${file} could not be started`, { cause: error });
  }
};

/** Resolves with what `keep` has kept of an output when that is closed. */
const collect = (
  { pipes }: Program,
  place: number,
  keep: (kept: string, text: string) => string,
): Promise<string> =>
  new Promise((resolve) => {
    let kept = '';
    pipes[place]
      ?.setEncoding('utf8')
      .on('data', (text: string) => {
        kept = keep(kept, text);
      })
      .on('error', () => undefined)
      .on('close', () => resolve(kept));
  });
