import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { CliError } from './cli-error.ts';
import { currentGround } from './current-ground.ts';
import { lockFile } from './data-lock.ts';

/** What a running server tells the commands beside it; also the one line of `skerry up --json`. */
export interface ServerAddress {
  /** Base URL of the platform API. */
  apiUrl: string;
  /** Base URL that reaches every sandbox's agent through routing headers. */
  sandboxUrl: string;
  /** Domain under which `{port}-{id}` host names are served, with its port. */
  domain: string;
  apiKey: string;
}

/** The folder that holds everything of one server when the user names none. */
export function defaultDataFolder(): string {
  const isRoot = process.getuid?.() === 0 && currentGround() === undefined;
  return isRoot ? '/var/lib/skerry' : join(homedir(), '.local/share/skerry');
}

/**
 * Creates the folder when missing, closed to other users, and returns its absolute path. Throws for a folder that holds
 * something else: closing a home or `/` to others would break the machine.
 */
export function openDataFolder(path: string): string {
  const folder = resolve(path);
  if (existsSync(folder) && !isDataFolder(folder) && !isFresh(folder))
    throw new CliError(`${folder} holds other things: name an empty folder, or one that does not exist yet`);
  mkdirSync(join(folder, 'run'), { recursive: true });
  chmodSync(folder, 0o700);
  return folder;
}

/** Whether a server has used the folder before. */
export function isDataFolder(folder: string): boolean {
  return existsSync(lockFile(folder));
}

/** Empty, or left by somebody who prepared the images, or by a first start that was cut off at once. */
function isFresh(folder: string): boolean {
  return readdirSync(folder).every((name) => name === 'images' || name === 'run');
}

const addressFile = (folder: string): string => join(folder, 'run', 'server.json');

/** The address with the process that serves there, as the kernel tells it from a later one of the same number. */
export type RunningServerAddress = ServerAddress & {
  pid: number;
  /** Absent from one of an earlier release. */
  startTicks?: number;
};

/** Tells the commands on this machine where the server of this folder listens, until {@link removeServerAddress}. */
export function writeServerAddress(folder: string, address: RunningServerAddress): void {
  writeFileSync(addressFile(folder), `${JSON.stringify(address)}\n`, { mode: 0o600 });
}

export function removeServerAddress(folder: string): void {
  rmSync(addressFile(folder), { force: true });
}

/** The address of the folder's server, or undefined when none has written one. It may be stale: the data lock decides. */
export function readServerAddress(folder: string): RunningServerAddress | undefined {
  try {
    return JSON.parse(readFileSync(addressFile(folder), 'utf8')) as RunningServerAddress;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
