import { findHelper, identifyProcess, type ProcessIdentity } from '@skerry/runtime';
import { CliError } from './cli-error.ts';
import { readServerAddress } from './data-folder.ts';
import { type DataLock, waitForLock } from './data-lock.ts';
import { hasEndedWithin, signalIdentified } from './end-process.ts';

export interface TakeOverOptions {
  /** How long a server, and then its helper, may take to end by itself. */
  deadlineMs: number;
  /** Called with what had to be done by force. */
  say: (message: string) => void;
}

/** For a process that has been killed, and for one that has only waited for it. */
const AFTER_KILL_MS = 10_000;
/** Another process may look at the lock, or a server may just be ending. */
const GLANCE_MS = 500;

/**
 * Resolves with the lock of the folder when neither a server nor a helper of it is alive: both are told to end, and killed when
 * they have not by the deadline, a stopped one too. Rejects when a server that is just starting keeps the lock.
 */
export async function takeOver(
  folder: string,
  options: TakeOverOptions,
): Promise<{ lock: DataLock; endedServer: boolean }> {
  const free = await waitForLock(folder, GLANCE_MS);
  const lock = free ?? (await stopServer(folder, options));
  try {
    await endHelper(folder, options);
  } catch (error) {
    lock.release();
    throw error;
  }
  return { lock, endedServer: free === undefined };
}

async function stopServer(folder: string, { deadlineMs, say }: TakeOverOptions): Promise<DataLock> {
  const server = findServer(folder);
  if (!server) throw new CliError(`a server of ${folder} is just starting or stopping: try again`);
  signalIdentified(server, 'SIGTERM');
  const ended = await waitForLock(folder, deadlineMs);
  if (ended) return ended;
  const helper = findHelper(folder);
  if (helper) {
    // It may be what the server waits for.
    say(`the server has not ended in ${deadlineMs / 1000} s: killing its helper, process ${helper.pid}`);
    signalIdentified(helper, 'SIGKILL');
    const without = await waitForLock(folder, AFTER_KILL_MS);
    if (without) return without;
  }
  say(`the server does not end: killing it, process ${server.pid}`);
  signalIdentified(server, 'SIGKILL');
  const killed = await waitForLock(folder, AFTER_KILL_MS);
  if (killed) return killed;
  throw new CliError(
    `process ${server.pid}, the server of ${folder}, cannot be ended: "cat /proc/${server.pid}/stack" shows what it waits for`,
  );
}

/** The process that the address says, if it is the one that wrote it. */
function findServer(folder: string): ProcessIdentity | undefined {
  const address = readServerAddress(folder);
  const found = address && identifyProcess(address.pid);
  return found && (address.startTicks ?? found.startTicks) === found.startTicks ? found : undefined;
}

/** One whose server has ended is about to end as well, when it has undone what it was making. */
async function endHelper(folder: string, { deadlineMs, say }: TakeOverOptions): Promise<void> {
  const helper = findHelper(folder);
  if (!helper || (await hasEndedWithin(helper, deadlineMs))) return;
  say(
    `the helper of an earlier server has not ended in ${deadlineMs / 1000} s: killing it, process ${helper.pid}`,
  );
  signalIdentified(helper, 'SIGKILL');
  if (await hasEndedWithin(helper, AFTER_KILL_MS)) return;
  throw new CliError(
    `process ${helper.pid}, a helper of ${folder}, cannot be ended: "cat /proc/${helper.pid}/stack" shows what it waits for`,
  );
}
