import { stripVTControlCharacters } from 'node:util';
import { type IPty, spawn } from '@lydell/node-pty';

/** A terminal with a shell, in which lines are typed. */
export interface Terminal {
  /** Types a line, and resolves when the shell is ready for the next. Rejects with the screen when the line fails. */
  type(line: string): Promise<void>;
  /** Types a line whose program stays, and resolves with the screen from there on once it matches. Rejects with it when the line ends. */
  typeUntil(line: string, pattern: RegExp): Promise<string>;
  /** Resolves when the line that stays has ended with this status. */
  untilEnded(status: number): Promise<void>;
  close(): Promise<void>;
}

interface TerminalOptions {
  /** A command that runs the command appended to it elsewhere. */
  through: readonly [string, ...string[]];
  env: Record<string, string>;
  cwd: string;
}

/** What the shell writes before each prompt: the status of the line before it. */
const prompt = /<<ended with (\d+)>>/g;

/** Opens one that is wide enough for each line. */
export function openTerminal({ through, env, cwd }: TerminalOptions): Terminal {
  const [file, ...argv] = [...through, 'bash', '--norc', '--noprofile'];
  const variables = { ...env, HISTFILE: '', PS1: '$ ', PROMPT_COMMAND: 'printf "<<ended with %s>>" $?' };
  const shell: IPty = spawn(file, argv, { cols: 1000, rows: 50, cwd, env: variables });
  let screen = '';
  let changed = (): void => undefined;
  let isClosed = false;
  shell.onData((data) => {
    screen += data;
    changed();
  });
  const closed = new Promise<void>((resolve) =>
    shell.onExit(() => {
      isClosed = true;
      changed();
      resolve();
    }),
  );
  const read = (): string => stripVTControlCharacters(screen).replaceAll('\r', '');
  const statuses = (): string[] => [...read().matchAll(prompt)].map(([, status = '']) => status);
  /** Resolves with what `find` finds on the screen. */
  const see = async <T>(find: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (isClosed) throw new Error(`the shell ended:\n${read()}`);
      await new Promise<void>((resolve) => {
        changed = resolve;
      });
    }
  };
  let typed = 0;
  const send = async (line: string): Promise<number> => {
    await see(() => statuses()[typed]);
    typed += 1;
    const from = read().length;
    shell.write(`${line}\r`);
    return from;
  };
  return {
    async type(line) {
      const from = await send(line);
      const status = await see(() => statuses()[typed]);
      if (status !== '0') throw new Error(`"${line}" ended with ${status}:\n${read().slice(from)}`);
    },
    async typeUntil(line, pattern) {
      const from = await send(line);
      return see(() => {
        const text = read().slice(from);
        if (pattern.test(text)) return text;
        if (statuses()[typed] !== undefined) throw new Error(`"${line}" ended:\n${text}`);
        return undefined;
      });
    },
    async untilEnded(status) {
      const found = await see(() => statuses()[typed]);
      if (found !== String(status)) throw new Error(`it ended with ${found}:\n${read().slice(-4000)}`);
    },
    async close() {
      if (!isClosed) shell.kill();
      await closed;
    },
  };
}
