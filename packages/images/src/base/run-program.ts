import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ImageError } from '../image-error.ts';

const systemFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];

export interface Program {
  file: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Written to stdin, which is empty without it. */
  input?: string;
  /** Gets each line of stdout and stderr as it comes. */
  onLine?: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/** Returns the path of a program in the system's folders; throws `missing_program` with the apt line that brings it. */
export function findProgram(name: string, debianPackage = name): string {
  for (const folder of systemFolders) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not in this folder.
    }
  }
  throw new ImageError('missing_program', `${name} is not installed on this host`, {
    remedy: `apt-get install -y --no-install-recommends ${debianPackage}`,
  });
}

/**
 * Runs a program in mount, pid and ipc namespaces of its own: whatever it mounts or starts is gone when it ends, when
 * `signal` aborts, and when this process dies by SIGKILL. Resolves when it exits with 0 and nothing of it is left; rejects
 * with the reason of the signal, else with `build_failed` and the last lines that it printed.
 */
export async function runProgram(program: Program): Promise<void> {
  const { file, args, env = {}, input, onLine, signal } = program;
  signal?.throwIfAborted();
  const last: string[] = [];
  const child = spawn(
    findProgram('setpriv', 'util-linux'),
    // setpriv becomes unshare, so that pdeathsig is set on the process whose end kills the pid namespace.
    [
      ...['--pdeathsig', 'KILL', '--', findProgram('unshare', 'util-linux'), '--mount', '--pid', '--ipc'],
      ...['--fork', '--kill-child=KILL', '--mount-proc', '--', file, ...args],
    ],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
      cwd: '/',
      env: { PATH: systemFolders.join(':'), LC_ALL: 'C', ...env },
    },
  );
  const abort = (): void => void child.kill('SIGKILL');
  signal?.addEventListener('abort', abort, { once: true });
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      if (last.push(line) > 30) last.shift();
      onLine?.(line);
    });
  // A program that exits without reading its stdin is judged by its exit, not by the broken pipe.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const how = await new Promise<string | undefined>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, killedBy) => {
      if (code === 0) resolve(undefined);
      else resolve(code === null ? `was ended by ${killedBy}` : `exited with ${code}`);
    });
  }).finally(() => signal?.removeEventListener('abort', abort));
  signal?.throwIfAborted();
  if (how !== undefined) throw new ImageError('build_failed', `${file} ${how}\n${last.join('\n')}`);
}
