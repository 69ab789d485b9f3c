import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifyProcess, isAlive, type ProcessIdentity } from '@skerry/runtime';
import { readServerAddress } from './data-folder.ts';

const processFile = (folder: string): string => join(folder, 'run', 'server-process.json');

/**
 * Tells the commands on this machine that this process is the server of the folder, also while it starts and stops, when it
 * has no address. For the owner of the data lock only.
 */
export function writeServerProcess(folder: string): void {
  writeFileSync(processFile(folder), `${JSON.stringify(identifyProcess(process.pid))}\n`, { mode: 0o600 });
}

/** Takes that back. For the owner of the data lock only. */
export function removeServerProcess(folder: string): void {
  rmSync(processFile(folder), { force: true });
}

/** The living server of the folder; undefined when there is none, or one that is only just taking the data lock. */
export function findServerProcess(folder: string): ProcessIdentity | undefined {
  const noted = readServerProcess(folder);
  if (noted) return isAlive(noted) ? noted : undefined;
  // A server of an earlier release has noted its address alone, some without the time of its start.
  const address = readServerAddress(folder);
  const found = address && identifyProcess(address.pid);
  return found && (address.startTicks ?? found.startTicks) === found.startTicks ? found : undefined;
}

function readServerProcess(folder: string): ProcessIdentity | undefined {
  try {
    return JSON.parse(readFileSync(processFile(folder), 'utf8')) as ProcessIdentity;
  } catch (error) {
    // It is not there, or not written to its end.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
