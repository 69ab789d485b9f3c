import { spawn } from '@lydell/node-pty';
import xterm from '@xterm/headless';
import { readScreen } from './screen.ts';
import type { Frame } from './svg.ts';

export interface PlayOptions {
  columns: number;
  rows: number;
  /** Typed into a shell, each when the one before it has ended. */
  lines: readonly string[];
  env: Record<string, string>;
  /** The folder of the shell. */
  cwd: string;
}

const keysMs = 70;
const longestWaitMs = 1200;
const readingMs = 1500;
const lastMs = 5000;

/** An invisible mark that the shell writes before each prompt, as terminals that know prompts expect it. */
const promptMark = '\u001b]133;A\u0007';

/**
 * Types lines into bash on a terminal and resolves with what it showed. Waits are as long as they were, up to 1.2 s. Rejects when
 * the shell ends, and when a line fails.
 */
export async function play({ columns, rows, lines, env, cwd }: PlayOptions): Promise<Frame[]> {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  const variables = {
    ...env,
    PS1: '\\[\\e[1;32m\\]$\\[\\e[0m\\] ',
    PROMPT_COMMAND: `[ $? = 0 ] || exit; printf '${promptMark}'`,
    HISTFILE: '',
    TERM: 'xterm-256color',
  };
  const shell = spawn('bash', ['--norc', '--noprofile'], { cols: columns, rows, cwd, env: variables });
  const frames: Frame[] = [];
  let changed = performance.now();
  let isTyping = false;
  let prompts = 0;
  let onChange = (): void => undefined;
  const show = (): void => {
    const now = performance.now();
    const before = frames.at(-1);
    if (before !== undefined && !isTyping)
      before.durationMs = Math.max(before.durationMs, Math.min(now - changed, longestWaitMs));
    changed = now;
    frames.push({ screen: readScreen(terminal), durationMs: keysMs });
    onChange();
  };
  const ended = new Promise<never>((_resolve, reject) =>
    shell.onExit(({ exitCode }) => reject(new Error(`the shell ended with ${exitCode}: ${toText(frames)}`))),
  );
  ended.catch(() => undefined); // At the end it is killed.
  shell.onData((data) => {
    prompts += data.split(promptMark).length - 1;
    terminal.write(data, show);
  });
  const until = async (isSo: () => boolean): Promise<void> => {
    const reached = new Promise<void>((resolve) => {
      onChange = () => isSo() && resolve();
      onChange();
    });
    await Promise.race([reached, ended]);
  };
  for (const [at, line] of lines.entries()) {
    await until(() => prompts === at + 1 && /\$ $/.test(toText(frames)));
    hold(frames, readingMs);
    isTyping = true;
    for (const word of line.split(/(?<= )/)) {
      const typed = frames.length;
      shell.write(word);
      await until(() => frames.length > typed && toText(frames).endsWith(word));
    }
    isTyping = false;
    changed = performance.now();
    shell.write('\r');
  }
  await until(() => prompts === lines.length + 1 && /\$ $/.test(toText(frames)));
  hold(frames, lastMs);
  shell.kill();
  return frames;
}

/** The text up to the cursor. */
const toText = (frames: readonly Frame[]): string => {
  const { rows = [], cursor } = frames.at(-1)?.screen ?? {};
  const row = (rows[cursor?.row ?? 0] ?? []).reduce((text, span) => text.padEnd(span.column) + span.text, '');
  return row.padEnd(cursor?.column ?? 0);
};

const hold = (frames: Frame[], durationMs: number): void => {
  const last = frames.at(-1);
  if (last !== undefined) last.durationMs = durationMs;
};
