import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { RuntimeError } from '../error.ts';
import { type Program, startProgram } from './start-program.ts';

/** Makes user namespaces through a small process that lives as long as this one. */
export interface NamespaceMaker {
  /**
   * Resolves with the pid of a process in a new user namespace that has no id map yet. The namespace belongs to the
   * user `owner` of the host, by default to the user of this process, which takes one program less. The process waits
   * there until `end` or until this process ends. All processes in the namespace and in those below it are at most
   * `processCount`. Rejects with `internal` when the namespace cannot be made, after ten seconds at the latest.
   */
  make(options: { owner?: number | undefined; processCount?: number | undefined }): Promise<number>;
  end(pid: number): void;
}

// Each process stays a child of this shell until the shell has waited for it, so its pid is not reused before. They all
// read from a pipe that closes with this process. A user namespace inherits RLIMIT_NPROC of its maker, which counts all
// processes in the namespace. `read` merges blanks, so a missing owner is written as a dash.
const script = `
while read -r act a b c; do
  case $act in
    make) [ "$b" = - ] && b=; \${c:+prlimit --nproc=$c} \${b:+setpriv --reuid $b --regid $b --clear-groups} unshare --user sh -c 'echo "$1 $$"; read -r _ <&3' sh "$a" & ;;
    end) { kill -9 "$a"; wait "$a"; } 2> /dev/null ;;
  esac
done
`;

interface Waiting {
  resolve(pid: number): void;
  fail(reason: string): void;
}

const DEADLINE_MS = 10_000;
/** An error message names no request. After this time all requests but the failed one have been answered. */
const BLAME_AFTER_MS = 1_000;

/**
 * A process started from here first copies the page tables of this process, and blocks it until the program has begun;
 * the shell has little to copy.
 */
export const createNamespaceMaker = (): NamespaceMaker => {
  const waiting = new Map<string, Waiting>();
  /** The shell that is the parent of each process, by pid. */
  const owners = new Map<number, Program>();
  let shell: Program | undefined;
  let count = 0;

  const failAll = (names: Iterable<string>, reason: string): void => {
    for (const name of [...names]) waiting.get(name)?.fail(reason);
  };

  const end = (pid: number): void => {
    const owner = owners.get(pid);
    owners.delete(pid);
    // A process of an earlier shell has ended, and its pid may be reused.
    if (owner === shell) shell?.pipes[0]?.write(`end ${pid}\n`);
  };

  const start = (): Program => {
    const child = startProgram({
      file: 'sh',
      args: ['-c', script],
      stdio: ['input', 'output', 'output', 'input'],
    });
    const [, stdout, stderr, life] = child.pipes as [Socket, Socket, Socket, Socket];
    const forget = (reason: string): void => {
      if (shell !== child) return;
      shell = undefined;
      for (const [pid, owner] of owners) if (owner === child) owners.delete(pid);
      // The processes that wait in a namespace read from it, and end.
      life.destroy();
      failAll(waiting.keys(), reason);
    };
    void child.ended.then(() => forget('its maker has ended'));
    for (const pipe of child.pipes) pipe?.on('error', () => undefined);
    // Only a failed command writes here.
    stderr.setEncoding('utf8').on('data', (text: string) => {
      const suspects = [...waiting.keys()];
      setTimeout(() => failAll(suspects, text.trim()), BLAME_AFTER_MS);
    });
    createInterface({ input: stdout }).on('line', (line) => {
      const [name = '', pid = ''] = line.split(' ');
      owners.set(Number(pid), child);
      const found = waiting.get(name);
      if (found) found.resolve(Number(pid));
      // The request was given up.
      else end(Number(pid));
    });
    return child;
  };

  /** Keeps this process alive only while a request is pending. */
  const keepAlive = (child: Program): void => {
    for (const handle of [child, ...child.pipes]) {
      if (waiting.size > 0) handle?.ref();
      else handle?.unref();
    }
  };

  return {
    make: ({ owner, processCount }) =>
      new Promise((resolve, reject) => {
        shell ??= start();
        const child = shell;
        count += 1;
        const name = String(count);
        const settle = (act: () => void): void => {
          clearTimeout(timer);
          waiting.delete(name);
          keepAlive(child);
          act();
        };
        const fail = (reason: string): void =>
          settle(() => reject(new RuntimeError('internal', `no user namespace can be made: ${reason}`)));
        const timer = setTimeout(() => fail('timed out'), DEADLINE_MS);
        waiting.set(name, { resolve: (pid) => settle(() => resolve(pid)), fail });
        child.pipes[0]?.write(`make ${name} ${owner ?? '-'} ${processCount ?? ''}\n`);
        keepAlive(child);
      }),
    end,
  };
};
