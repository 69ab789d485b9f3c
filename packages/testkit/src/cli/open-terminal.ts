import { stripVTControlCharacters } from 'node:util';
import { type IPty, spawn } from '@lydell/node-pty';
import { onTestFailed, onTestFinished } from 'vitest';

/** A program on a terminal of this host, until the end of a test. */
interface Terminal {
  terminal: IPty;
  /** What it has shown, without control sequences. */
  text(): string;
  /** What it has shown, as it came. */
  screen(): string;
  /** Resolves when the text matches. */
  see(pattern: RegExp): Promise<void>;
  /** The exit status. */
  ended: Promise<number>;
}

/** Starts it. A test that fails prints its screen. */
export function openTerminal(
  file: string,
  args: string[],
  options: { env?: NodeJS.ProcessEnv; cwd?: string } = {},
): Terminal {
  const terminal = spawn(file, args, { cols: 90, rows: 30, name: 'xterm', ...options });
  let screen = '';
  let changed = (): void => {};
  terminal.onData((data) => {
    screen += data;
    changed();
  });
  const text = (): string => stripVTControlCharacters(screen).replaceAll('\r', '');
  onTestFailed(() => console.error(`the screen of ${file}:\n${text()}`));
  let isEnded = false;
  const ended = new Promise<number>((resolve) =>
    terminal.onExit(({ exitCode }) => {
      isEnded = true;
      resolve(exitCode);
    }),
  );
  onTestFinished(() => {
    if (!isEnded) terminal.kill();
  });
  return {
    terminal,
    text,
    screen: () => screen,
    see: async (pattern) => {
      while (!pattern.test(text())) {
        await new Promise<void>((resolve) => {
          changed = resolve;
        });
      }
    },
    ended,
  };
}
