import type { Sandbox } from '@skerry/sdk';
import { UserError } from '@skerry/server/user-error';
import { toExitStatus } from '../../../exit-status.ts';
import { enterRawMode } from './raw-mode.ts';

export interface TerminalOptions {
  /** Default: an interactive login shell. */
  command?: string | undefined;
  user?: string | undefined;
  cwd?: string | undefined;
  envs?: Record<string, string> | undefined;
  /** Default: none. */
  timeoutMs?: number | undefined;
}

const { stdin, stdout } = process;

const sizeOf = (): { cols: number; rows: number } => ({
  // A terminal without a size reports 0.
  cols: stdout.columns || 80,
  rows: stdout.rows || 24,
});

/** Resolves when the stream accepts more. */
const show = (bytes: Uint8Array): Promise<void> | void => {
  if (!stdout.write(bytes)) return new Promise((resolve) => void stdout.once('drain', resolve));
};

/**
 * Connects this terminal to a new one in the sandbox until the program there ends, and resolves with its exit status.
 * Keys are forwarded unchanged, Ctrl-C too; the size follows. This terminal is restored when the
 * promise settles.
 */
export async function attachTerminal(sandbox: Sandbox, options: TerminalOptions): Promise<number> {
  if (!stdin.isTTY || !stdout.isTTY)
    throw new UserError('standard input and output must be a terminal for --tty');
  const handle = await sandbox.pty.create({
    ...sizeOf(),
    ...options,
    envs: { TERM: process.env.TERM || 'xterm-256color', ...options.envs },
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
        // The terminal has just ended, or the connection is lost, which `wait` reports.
      });
  };
  const leaveRawMode = enterRawMode();
  stdout.on('resize', resize);
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, kill);
  handle.streamInput(stdin, { signal: typing.signal }).catch(() => {
    // Input ends with the terminal in the sandbox, whose end `wait` reports.
  });
  try {
    return toExitStatus(await handle.wait());
  } finally {
    typing.abort();
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.off(signal, kill);
    stdout.off('resize', resize);
    leaveRawMode();
    stdin.destroy();
  }
}
