import { join, resolve } from 'node:path';
import { hasSandboxes, removeRemains, startHelper } from '@skerry/runtime';
import { isDataFolder, removeServerAddress } from '../data-folder/data-folder.ts';
import { findUse } from '../data-folder/folder-use.ts';
import { removeServerProcess } from '../data-folder/server-process.ts';
import { leaveRootlessNamespace, toRootlessOptions } from '../host/rootless.ts';
import { findLocations } from '../locations.ts';
import { UserError } from '../user-error.ts';
import { takeOver } from './take-over.ts';

export interface DownOptions {
  dataDir: string;
  /** The time in which a server, a helper, and each sandbox must end before it is killed. */
  deadlineMs: number;
  /** Called with each deviation from the usual way, and its reason. */
  say: (message: string) => void;
  /** Called with each line that a helper writes to its standard error. */
  onHelperLine: (line: string) => void;
}

export interface DownResult {
  /** Sandboxes that were ended and removed. */
  stopped: number;
  endedServer: boolean;
}

/**
 * Ends the running server of the folder, then every sandbox made from it, with all their traces on this host: first
 * through a helper, if it has any. What then remains, also when no helper can run, is removed as records and the kernel show it. The
 * folder itself stays: base images and the database are kept. Sandboxes on nodes run on. Safe to repeat. Rejects for a folder that is not
 * skerry's, and when a resource cannot be removed, with the remedy.
 */
export async function takeDown({ dataDir, deadlineMs, say, onHelperLine }: DownOptions): Promise<DownResult> {
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => leaveRootlessNamespace());
  const folder = resolve(dataDir);
  if (!isDataFolder(folder)) throw new UserError(`${folder} is not a data folder of skerry`);
  const { lock, endedServer } = await takeOver(folder, { deadlineMs, say });
  try {
    removeServerAddress(folder);
    removeServerProcess(folder);
    // The machine of such a server may not be able to run a helper at all.
    if (findUse(folder) === 'server') return { stopped: 0, endedServer };
    const { stopped, failure } = (await hasSandboxes({ dataDir: folder, ...toRootlessOptions() }))
      ? await stopByHelper(folder, { deadlineMs, onHelperLine })
      : { stopped: 0 };
    if (failure)
      say(`the helper could not remove all sandboxes (${toReason(failure)}): removing them without it`);
    const remains = await removeRemains({ dataDir: folder, ...toRootlessOptions() });
    for (const line of remains.done) say(line);
    if (remains.problems.length > 0)
      throw new UserError(`parts of sandboxes could not be removed: ${remains.problems.join('; ')}`);
    return { stopped: stopped + remains.sandboxes, endedServer };
  } finally {
    lock.release();
  }
}

/** Resolves with the number of removed sandboxes, and the reason if it could not continue. Leaves no helper running. */
async function stopByHelper(
  folder: string,
  { deadlineMs, onHelperLine }: Pick<DownOptions, 'deadlineMs' | 'onHelperLine'>,
): Promise<{ stopped: number; failure?: unknown }> {
  const abandoning = new AbortController();
  const timer = setTimeout(() => {
    abandoning.abort(new UserError(`the helper ended no sandbox for ${deadlineMs / 1000} s`));
  }, deadlineMs);
  let stopped = 0;
  try {
    const runtime = await startHelper({
      mainPath: findLocations().helperProgram,
      dataDir: folder,
      agentDir: join(folder, 'agent'),
      startsNone: true,
      abandon: abandoning.signal,
      onStderrLine: onHelperLine,
      ...toRootlessOptions(),
    });
    try {
      for await (const instance of runtime.list()) {
        await instance.stop();
        stopped += 1;
        timer.refresh();
      }
    } finally {
      await runtime.close();
    }
    return { stopped };
  } catch (error) {
    return { stopped, failure: abandoning.signal.aborted ? abandoning.signal.reason : error };
  } finally {
    clearTimeout(timer);
  }
}

/** The message with that of the innermost cause, which is the most specific. */
function toReason(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${toReason(cause)}` : message;
}
