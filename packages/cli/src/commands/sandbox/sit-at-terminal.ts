import type { Sandbox } from '@skerry/sdk';
import { CliError } from '../../cli-error.ts';
import { enterRawMode } from './raw-mode.ts';

export interface SittingOptions {
  /** Default: an interactive login shell. */
  command?: string | undefined;
  user?: string | undefined;
  cwd?: string | undefined;
}

const { stdin, stdout } = process;

const sizeOf = (): { cols: number; rows: number } => ({
  // A terminal that nobody has given a size says 0.
  cols: stdout.columns || 80,
  rows: stdout.rows || 24,
});

/** Resolves when there is room for more. */
const show = (bytes: Uint8Array): Promise<void> | void => {
  if (!stdout.write(bytes)) return new Promise((resolve) => void stdout.once('drain', resolve));
};

/**
 * Connects this terminal to a new one in the sandbox until the program there ends, and resolves with its exit code (-1 after a
 * signal). Keys go there as they are, Ctrl-C too; the size follows. This terminal is as before when the promise settles.
 */
export async function sitAtTerminal(sandbox: Sandbox, options: SittingOptions): Promise<number> {
  if (!stdin.isTTY || !stdout.isTTY)
    throw new CliError('standard input and output must be a terminal for --tty');
  const handle = await sandbox.pty.create({
    ...sizeOf(),
    ...options,
    envs: { TERM: process.env.TERM || 'xterm-256color' },
    onData: show,
  });
  const typing = new AbortController();
  const kill = (): void => void handle.kill();
  // The last of several sizes counts, so the order of the calls matters.
  let resizing = Promise.resolve();
  const resize = (): void => {
    resizing = resizing
      .then(() => handle.resize(sizeOf()))
      .catch(() => {
        // It has just ended, or the connection is lost, which `wait` tells.
      });
  };
  const leaveRawMode = enterRawMode();
  stdout.on('resize', resize);
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, kill);
  handle.streamInput(stdin, { signal: typing.signal }).catch(() => {
    // It ends with the terminal there, whose end `wait` tells.
  });
  try {
    return (await handle.wait()).exitCode;
  } finally {
    typing.abort();
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.off(signal, kill);
    stdout.off('resize', resize);
    leaveRawMode();
    stdin.destroy();
  }
}
