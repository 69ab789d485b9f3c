import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StackAddress } from '../stack/stack-client.ts';

export interface ServiceManagerOptions {
  /** Where its files are. */
  folder: string;
  /** The command of the service, as the words of `ExecStart`. */
  command: readonly string[];
}

/** Starts and stops one server as systemd does its service, through the command that the pages call. */
export interface ServiceManager {
  /** Path of a program that takes `start`, `stop`, `restart`, `is-active` and `enable --now`, as systemctl(1) does. */
  program: string;
  /** Starts the server, and returns its address. It keeps its port over restarts. */
  start(): StackAddress;
  stop(): void;
}

/** Makes the program. The service is the only one it knows, and has to print one line when it is ready. */
export function createServiceManager({ folder, command }: ServiceManagerOptions): ServiceManager {
  const program = join(folder, 'systemctl');
  const at = (name: string): string => join(folder, name);
  const quoted = command.map((word) => `'${word}'`).join(' ');
  writeFileSync(
    program,
    `#!/bin/sh
# A process that has ended stays a zombie where nothing reaps it.
runs() { grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$(cat ${at('pid')} 2>/dev/null)/status"; }
case $1 in
  stop)
    kill "$(cat ${at('pid')})"
    while runs; do sleep 0.05; done
    ;;
  start|enable)
    runs && exit 0
    rm -f ${at('ready')}
    setsid ${quoted} --port "$(cat ${at('port')} 2>/dev/null || echo 0)" >${at('ready')} 2>>${at('log')} </dev/null &
    echo $! >${at('pid')}
    until [ -s ${at('ready')} ]; do
      runs || { cat ${at('log')} >&2; exit 1; }
      sleep 0.05
    done
    sed -E 's/.*"apiUrl":"[^"]*:([0-9]+)".*/\\1/' ${at('ready')} >${at('port')}
    ;;
  restart) "$0" stop && "$0" start ;;
  is-active) runs && echo active ;;
esac
`,
  );
  chmodSync(program, 0o755);
  const run = (verb: string): void => {
    // The server keeps the descriptors that it inherits, so they must not be pipes of this process.
    const { status } = spawnSync(program, [verb], { stdio: ['ignore', 'ignore', 'inherit'] });
    if (status !== 0) throw new Error(`the service does not ${verb}`);
  };
  return {
    program,
    start: () => {
      run('start');
      return JSON.parse(readFileSync(at('ready'), 'utf8')) as StackAddress;
    },
    stop: () => run('stop'),
  };
}
