import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

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
  return process.getuid?.() === 0 ? '/var/lib/skerry' : join(homedir(), '.local/share/skerry');
}

/** Creates the folder when missing, closed to other users, and returns its absolute path. */
export function openDataFolder(path: string): string {
  const folder = resolve(path);
  mkdirSync(join(folder, 'run'), { recursive: true });
  chmodSync(folder, 0o700);
  return folder;
}

const addressFile = (folder: string): string => join(folder, 'run', 'server.json');

/** Tells the commands on this machine where the server of this folder listens, until {@link removeServerAddress}. */
export function writeServerAddress(folder: string, address: ServerAddress & { pid: number }): void {
  writeFileSync(addressFile(folder), `${JSON.stringify(address)}\n`, { mode: 0o600 });
}

export function removeServerAddress(folder: string): void {
  rmSync(addressFile(folder), { force: true });
}

/** The address of the folder's server, or undefined when none has written one. It may be stale: the data lock decides. */
export function readServerAddress(folder: string): (ServerAddress & { pid: number }) | undefined {
  try {
    return JSON.parse(readFileSync(addressFile(folder), 'utf8')) as ServerAddress & { pid: number };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
