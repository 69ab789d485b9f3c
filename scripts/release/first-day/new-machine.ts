import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram } from '../find-program.ts';

/** The data folder of root's server, which pages do not name, so that it cannot be another. */
const dataFolder = '/var/lib/skerry';

/** A machine on which skerry has never been installed: what its user would keep is in one folder. */
export interface NewMachine {
  /** A command that runs the command appended to it there. */
  through: readonly [string, ...string[]];
  env: Record<string, string>;
  /** Where its user is. */
  home: string;
  close(): Promise<void>;
}

/**
 * Makes it of this machine: with an empty home, an empty prefix of npm, and an empty data folder, which the processes below `through`
 * alone see. Needs root.
 */
export async function openNewMachine(folder: string, npm: Record<string, string>): Promise<NewMachine> {
  const [home, prefix, data, bin] = ['home', 'npm', 'data', 'bin'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const path of [home, prefix, data, bin]) mkdirSync(path, { recursive: true });
  const isOurs = !existsSync(dataFolder);
  mkdirSync(dataFolder, { recursive: true });
  const holder = await holdNamespace(`mount --bind '${data}' ${dataFolder}`);
  if (findProgram(['sudo']) === undefined) {
    // Root needs no sudo. Machines without it are seldom those of people.
    writeFileSync(join(bin, 'sudo'), '#!/bin/sh\nSUDO_USER=$(id -un) exec "$@"\n');
    chmodSync(join(bin, 'sudo'), 0o755);
  }
  return {
    through: ['nsenter', `--target=${holder.pid}`, '--mount', `--wdns=${home}`, '--'],
    env: {
      ...npm,
      npm_config_prefix: prefix,
      HOME: home,
      PATH: [join(prefix, 'bin'), bin, process.env.PATH].join(':'),
      LANG: 'C.UTF-8',
      TERM: 'xterm',
    },
    home,
    async close() {
      const closed = once(holder, 'close');
      holder.stdin?.end();
      await closed;
      if (isOurs) rmdirSync(dataFolder);
    },
  };
}

/** A process in a mount namespace, which ends with its input. */
async function holdNamespace(prepare: string): Promise<ChildProcess> {
  const script = `${prepare} && echo ready && exec cat`;
  const holder = spawn('unshare', ['--mount', 'sh', '-c', script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await Promise.race([once(holder.stdout, 'data'), once(holder, 'close')]);
  if (String(line) !== 'ready\n') throw new Error('no mount namespace could be made');
  return holder;
}
