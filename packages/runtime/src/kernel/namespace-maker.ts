import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Duplex, Readable } from 'node:stream';
import { RuntimeError } from '../error.ts';
import { systemPath } from './run-command.ts';

/** Makes user namespaces through a small process that lives as long as this one. */
export interface NamespaceMaker {
  /**
   * Resolves with the pid of a process in a new user namespace that maps nobody yet, and belongs to that user of the
   * host, or to who this process is, which takes a program less. It waits there, until `end` or until this process is
   * gone. All processes in the namespace together, and in those below, are no more than `processCount`. Rejects with
   * `internal` when there can be none, after ten seconds at the latest.
   */
  make(options: { owner?: number | undefined; processCount?: number | undefined }): Promise<number>;
  end(pid: number): void;
}

// Every process is a child of this shell until it has waited for it, so no pid is ever somebody else's. What they read ends
// with us.
// A user namespace inherits its maker's RLIMIT_NPROC, which counts all processes in the namespace. `read` takes several blanks
// for one, so a missing owner is a dash.
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
/** A complaint names no request. By then all but the one that it is about have what they asked for. */
const BLAME_AFTER_MS = 1_000;

/**
 * Starting a process from here takes as long as copying the tables of all our memory, and holds up everything else until
 * its program has begun; a shell has little to copy.
 */
export const createNamespaceMaker = (): NamespaceMaker => {
  const waiting = new Map<string, Waiting>();
  /** The shell that has to wait for it, by pid. */
  const owners = new Map<number, ChildProcess>();
  let shell: ChildProcess | undefined;
  let count = 0;

  const failAll = (names: Iterable<string>, reason: string): void => {
    for (const name of [...names]) waiting.get(name)?.fail(reason);
  };

  const end = (pid: number): void => {
    const owner = owners.get(pid);
    owners.delete(pid);
    // With another shell it has ended, and the pid may be somebody else's.
    if (owner === shell) shell?.stdin?.write(`end ${pid}\n`);
  };

  const start = (): ChildProcess => {
    const child = spawn('sh', ['-c', script], {
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      cwd: '/',
      env: { PATH: systemPath },
    });
    const forget = (reason: string): void => {
      if (shell !== child) return;
      shell = undefined;
      for (const [pid, owner] of owners) if (owner === child) owners.delete(pid);
      // Those that wait in a namespace read from it, and end.
      child.stdio[3]?.destroy();
      failAll(waiting.keys(), reason);
    };
    child.on('error', (error) => forget(error.message));
    child.on('exit', () => forget('its maker has ended'));
    for (const pipe of child.stdio) pipe?.on('error', () => undefined);
    // Only what has failed says anything here.
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      const suspects = [...waiting.keys()];
      setTimeout(() => failAll(suspects, text.trim()), BLAME_AFTER_MS);
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [name = '', pid = ''] = line.split(' ');
      owners.set(Number(pid), child);
      const found = waiting.get(name);
      if (found) found.resolve(Number(pid));
      // Nobody waits for it any more.
      else end(Number(pid));
    });
    return child;
  };

  /** It keeps this process from ending only while somebody waits for it. */
  const keepAlive = (child: ChildProcess): void => {
    const isNeeded = waiting.size > 0;
    for (const handle of [child, ...(child.stdio as (Duplex | Readable)[])]) {
      const { ref, unref } = handle as { ref?: () => void; unref?: () => void };
      (isNeeded ? ref : unref)?.call(handle);
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
        const timer = setTimeout(() => fail('it takes too long'), DEADLINE_MS);
        waiting.set(name, { resolve: (pid) => settle(() => resolve(pid)), fail });
        child.stdin?.write(`make ${name} ${owner ?? '-'} ${processCount ?? ''}\n`);
        keepAlive(child);
      }),
    end,
  };
};
