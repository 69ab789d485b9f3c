import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess, isAlive, type ProcessIdentity } from '@skerry/runtime';

const processFile = (folder: string): string => join(folder, 'run', 'server-process.json');

/**
 * Publishes that this process is the server of the folder, also while it starts and stops, when it has no address.
 * Only for the owner of the data lock.
 */
export function writeServerProcess(folder: string): void {
  writeFileSync(processFile(folder), `${JSON.stringify(identifyProcess(process.pid))}\n`, { mode: 0o600 });
}

/** Reverts that. Only for the owner of the data lock. */
export function removeServerProcess(folder: string): void {
  rmSync(processFile(folder), { force: true });
}

/** The living server of the folder; undefined when there is none, or it has not taken the data lock yet. */
export function findServerProcess(folder: string): ProcessIdentity | undefined {
  const noted = readServerProcess(folder);
  return noted && isAlive(noted) ? noted : undefined;
}

function readServerProcess(folder: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(processFile(folder), 'utf8')) as ProcessIdentity;
  } catch (error) {
    // The file is missing or incomplete.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
