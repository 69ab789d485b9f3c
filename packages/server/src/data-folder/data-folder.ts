import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ProcessIdentity, requireOwnFolder } from '@skerry/runtime';
import { currentRootlessState } from '../host/current-rootless-state.ts';
import { UserError } from '../user-error.ts';

/** The address that a running server publishes to the other commands; also the one line of `skerry up --json`. */
export interface ServerAddress {
  /** Base URL of the platform API. */
  apiUrl: string;
  /** Base URL that reaches every sandbox's agent through routing headers. */
  sandboxUrl: string;
  /** Domain under which `{port}-{id}` host names are served, with its port. */
  domain: string;
  apiKey: string;
}

/** The default folder of a server of root. */
export const ROOT_DATA_FOLDER = '/var/lib/skerry';

/** The default folder of a server. */
export function defaultDataFolder(): string {
  const isRoot = process.getuid?.() === 0 && currentRootlessState() === undefined;
  return isRoot ? ROOT_DATA_FOLDER : join(homedir(), '.local/share/skerry');
}

/** How help names that folder, for every user alike. */
export const dataFolderDefault = '/var/lib/skerry, or ~/.local/share/skerry without root';

/**
 * Creates the folder when missing, closed to other users, and returns its absolute path. Throws for a folder with other
 * content, since closing a home or `/` to others would break the machine, and for one that another user owns or may
 * write.
 */
export function openDataFolder(path: string): string {
  const folder = resolve(path);
  if (existsSync(folder) && !isDataFolder(folder) && !isFresh(folder))
    throw new UserError(
      `${folder} contains other files: choose an empty folder, or one that does not exist yet`,
    );
  if (existsSync(folder)) requireTrusted(folder);
  mkdirSync(join(folder, 'run'), { recursive: true });
  chmodSync(folder, 0o700);
  return folder;
}

/** The file that every server of a folder locks. It stays when they have ended, and so marks a data folder. */
export const lockFile = (folder: string): string => join(folder, 'run', 'server.lock');

/** The database of the platform. */
export const databaseFile = (folder: string): string => join(folder, 'skerry.db');

/** Creates the folder of images when missing. Throws as {@link openDataFolder} does: programs lie in it. */
export function openImagesFolder(path: string): string {
  const folder = resolve(path);
  mkdirSync(folder, { recursive: true });
  requireTrusted(folder);
  return folder;
}

function requireTrusted(folder: string): void {
  try {
    requireOwnFolder(folder);
  } catch (error) {
    throw new UserError((error as Error).message);
  }
}

/** Whether a server has used the folder before. */
export function isDataFolder(folder: string): boolean {
  return [lockFile(folder), databaseFile(folder)].some((path) => existsSync(path));
}

/** What may be there before the first start: prepared images, what an interrupted start has left, and the secrets of another server. */
const freshNames = new Set(['images', 'run', 'secret', 'api-key']);

function isFresh(folder: string): boolean {
  return readdirSync(folder).every((name) => freshNames.has(name));
}

const addressFile = (folder: string): string => join(folder, 'run', 'server.json');

/**
 * The address with the process of the server, identified so that a later process with the same pid is not mistaken for
 * it.
 */
export type RunningServerAddress = ServerAddress & ProcessIdentity;

/** Publishes the address of this folder's server to the other commands, until {@link removeServerAddress}. */
export function writeServerAddress(folder: string, address: RunningServerAddress): void {
  writeFileSync(addressFile(folder), `${JSON.stringify(address)}\n`, { mode: 0o600 });
}

export function removeServerAddress(folder: string): void {
  rmSync(addressFile(folder), { force: true });
}

/**
 * The address of the folder's server, or undefined when no server has written one. It may be stale: the data lock
 * decides.
 */
export function readServerAddress(folder: string): RunningServerAddress | undefined {
  try {
    return JSON.parse(readFileSync(addressFile(folder), 'utf8')) as RunningServerAddress;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
