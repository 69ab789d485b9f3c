import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { ImageError } from './image-error.ts';

const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

/** mmdebstrap and apt print far less; a program that prints more is killed. */
const OUTPUT_LIMIT = 64 << 20;

export interface Program {
  file: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Written to stdin, which is empty without it. */
  input?: string;
  /** Called with each line of stdout and stderr. */
  onLine?: (line: string) => void;
  /** Whether it has the namespaces of this process, as one needs that may make none. Default false. */
  sharesNamespaces?: boolean;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the path of a program in the system's folders; throws `missing_program` with the apt line that installs it.
 */
export function findProgram(name: string, debianPackage = name): string {
  for (const folder of systemFolders) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Missing in this folder.
    }
  }
  throw new ImageError('missing_program', `${name} is not installed on this host`, {
    remedy: `apt-get install -y --no-install-recommends ${debianPackage}`,
  });
}

/** The command that runs another one, which ends with this process. */
export const toBound = (command: readonly string[]): [file: string, ...args: string[]] => [
  findProgram('setpriv', 'util-linux'),
  // On the process that this one starts: where that is unshare, its end kills the pid namespace.
  ...['--pdeathsig', 'KILL', '--', ...command],
];

/** What makes namespaces of these kinds and starts the program that follows as their first process. */
export const toNamespaces = (kinds: readonly string[]): readonly string[] => [
  findProgram('unshare', 'util-linux'),
  ...kinds.map((kind) => `--${kind}`),
  ...['--fork', '--kill-child=KILL', '--mount-proc', '--'],
];

/** The environment of programs: nothing of this process. */
export const programEnvironment: Readonly<Record<string, string>> = {
  PATH: systemFolders.join(':'),
  LC_ALL: 'C',
};

/**
 * Runs a program in mount, pid and ipc namespaces of its own: everything that it mounts or starts is removed when it
 * ends, when `signal` aborts, and when this process is killed. Resolves when it exits with 0 and nothing of it is left;
 * rejects with the reason of the signal, otherwise with `build_failed` and the last lines of its output.
 */
export async function runProgram(program: Program): Promise<void> {
  const { file, args, env = {}, input, onLine, sharesNamespaces = false, signal } = program;
  signal?.throwIfAborted();
  const namespaces = sharesNamespaces ? [] : toNamespaces(['mount', 'pid', 'ipc']);
  const [first, ...rest] = toBound([...namespaces, file, ...args]);
  const running = promisify(execFile)(first, rest, {
    cwd: '/',
    env: { ...programEnvironment, ...env },
    maxBuffer: OUTPUT_LIMIT,
  });
  const { child } = running;
  // Not the signal of execFile: that one rejects before the program has ended.
  const abort = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', abort, { once: true });
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    if (stream)
      createInterface({ input: stream }).on('line', (line) => {
        if (last.push(line) > 30) last.shift();
        onLine?.(line);
      });
  // A program that exits without reading its stdin is judged by its exit, not by the broken pipe.
  child.stdin?.on('error', () => undefined).end(input);
  try {
    await running;
  } catch (error) {
    signal?.throwIfAborted();
    const { code, signal: killedBy } = error as { code?: number | string; signal?: NodeJS.Signals };
    const how = killedBy ? `was ended by ${killedBy}` : `exited with ${code}`;
    throw new ImageError('build_failed', `${file} ${how}\n${last.join('\n')}`, { cause: error });
  } finally {
    signal?.removeEventListener('abort', abort);
  }
  signal?.throwIfAborted();
}

/**
 * Removes a tree, by a program: a call of Node for each of many files takes several times as long, and lists whole folders at once.
 * Rejects with `build_failed` when something cannot be removed.
 */
export const removeTree = (path: string): Promise<void> =>
  runProgram({ file: findProgram('rm', 'coreutils'), args: ['--recursive', '--force', '--', path] });
