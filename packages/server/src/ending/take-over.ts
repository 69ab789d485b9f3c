import { setTimeout as delay } from 'node:timers/promises';
import { findHelper, type ProcessIdentity } from '@skerry/runtime';
import type { FileLock } from '@skerry/runtime/kernel';
import { tryLock, waitForLock } from '../data-folder/data-lock.ts';
import { findServerProcess } from '../data-folder/server-process.ts';
import { UserError } from '../user-error.ts';
import { hasEndedWithin, signalIdentified } from './end-process.ts';

export interface TakeOverOptions {
  /** The time in which a server, and then its helper, must end by itself. */
  deadlineMs: number;
  /** Called with each use of force. */
  say: (message: string) => void;
}

/** Time for the end of a killed process, and of a process that only waited for it. */
const AFTER_KILL_MS = 10_000;
/** Another process may be checking the lock, or a server may just be ending. */
const GLANCE_MS = 500;

/**
 * Resolves with the lock of the folder when neither a server nor a helper of it is alive: both get SIGTERM, and
 * SIGKILL when they have not ended by the deadline, also a server that is still starting and a stopped one. Rejects
 * when a process that is not a server, such as another `skerry down`, keeps the lock until the deadline.
 */
export async function takeOver(
  folder: string,
  options: TakeOverOptions,
): Promise<{ lock: FileLock; endedServer: boolean }> {
  const taken = await lockAfterServer(folder, options);
  try {
    await endHelper(folder, options);
  } catch (error) {
    taken.lock.release();
    throw error;
  }
  return taken;
}

async function lockAfterServer(
  folder: string,
  options: TakeOverOptions,
): Promise<{ lock: FileLock; endedServer: boolean }> {
  const { deadlineMs } = options;
  const free = await waitForLock(folder, GLANCE_MS);
  const found = free ?? (await findServerOrLock(folder, deadlineMs));
  if (!found)
    throw new UserError(
      `${folder} has been locked for more than ${deadlineMs / 1000} s by a process that is not its server, such as another "skerry down": try again when it has ended`,
    );
  if ('release' in found) return { lock: found, endedServer: false };
  return { lock: await stopServer(folder, found, options), endedServer: true };
}

async function stopServer(
  folder: string,
  server: ProcessIdentity,
  { deadlineMs, say }: TakeOverOptions,
): Promise<FileLock> {
  signalIdentified(server, 'SIGTERM');
  // The second signal: what is in progress in its sandboxes is about to end anyway.
  signalIdentified(server, 'SIGHUP');
  const ended = await waitForLock(folder, deadlineMs);
  if (ended) return ended;
  const helper = findHelper(folder);
  if (helper) {
    // The server may be waiting for its helper.
    say(`the server has not ended in ${deadlineMs / 1000} s: killing its helper, process ${helper.pid}`);
    signalIdentified(helper, 'SIGKILL');
    const without = await waitForLock(folder, AFTER_KILL_MS);
    if (without) return without;
  }
  say(`the server does not end: killing it, process ${server.pid}`);
  signalIdentified(server, 'SIGKILL');
  const killed = await waitForLock(folder, AFTER_KILL_MS);
  if (killed) return killed;
  throw new UserError(
    `process ${server.pid}, the server of ${folder}, cannot be ended: "cat /proc/${server.pid}/stack" shows what it waits for`,
  );
}

/** The usual first step. A server records its process a moment after it has locked the folder. */
async function findServerOrLock(folder: string, ms: number): Promise<ProcessIdentity | FileLock | undefined> {
  for (const deadline = performance.now() + ms; ; await delay(50)) {
    const found = findServerProcess(folder) ?? tryLock(folder);
    if (found || performance.now() >= deadline) return found;
  }
}

/** A helper whose server has ended is about to end as well, when it has undone its unfinished work. */
async function endHelper(folder: string, { deadlineMs, say }: TakeOverOptions): Promise<void> {
  const helper = findHelper(folder);
  if (!helper || (await hasEndedWithin(helper, deadlineMs))) return;
  say(
    `the helper of an earlier server has not ended in ${deadlineMs / 1000} s: killing it, process ${helper.pid}`,
  );
  signalIdentified(helper, 'SIGKILL');
  if (await hasEndedWithin(helper, AFTER_KILL_MS)) return;
  throw new UserError(
    `process ${helper.pid}, a helper of ${folder}, cannot be ended: "cat /proc/${helper.pid}/stack" shows what it waits for`,
  );
}
