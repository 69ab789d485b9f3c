import { join, resolve } from 'node:path';
import { removeRemains, startHelper } from '@skerry/runtime';
import { CliError } from './cli-error.ts';
import { isDataFolder, removeServerAddress } from './data-folder.ts';
import { leaveGround, toGroundOptions } from './ground.ts';
import { findLocations } from './locations.ts';
import { removeServerProcess } from './server-process.ts';
import { takeOver } from './take-over.ts';

export interface DownOptions {
  dataDir: string;
  /** How long a server, a helper, and the end of one sandbox may take before they are ended by force. */
  deadlineMs: number;
  /** Called with what had to be done in another way than the usual one, and why. */
  say: (message: string) => void;
}

export interface DownResult {
  /** Sandboxes that were ended and removed. */
  stopped: number;
  endedServer: boolean;
}

/**
 * Ends the server of the folder when one runs, then every sandbox made from it, with all their traces on this host: through a
 * helper, and what is left then, also when no helper can be had, by what records and the kernel show. The folder itself stays: base
 * images and the database are kept. Safe to repeat. Throws for a folder that is not skerry's, and when something resists, with what
 * mends that.
 */
export async function takeDown({ dataDir, deadlineMs, say }: DownOptions): Promise<DownResult> {
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => leaveGround());
  const folder = resolve(dataDir);
  if (!isDataFolder(folder)) throw new CliError(`${folder} is not a data folder of skerry`);
  const { lock, endedServer } = await takeOver(folder, { deadlineMs, say });
  try {
    removeServerAddress(folder);
    removeServerProcess(folder);
    const { stopped, failure } = await stopByHelper(folder, deadlineMs);
    if (failure)
      say(`the helper could not remove all sandboxes (${toReason(failure)}): removing them without it`);
    const remains = await removeRemains({ dataDir: folder, ...toGroundOptions() });
    for (const line of remains.done) say(line);
    if (remains.problems.length > 0)
      throw new CliError(`something is left of the sandboxes: ${remains.problems.join('; ')}`);
    return { stopped: stopped + remains.sandboxes, endedServer };
  } finally {
    lock.release();
  }
}

/** Resolves with how many were removed, and why it went no further, if so. Leaves no helper. */
async function stopByHelper(
  folder: string,
  deadlineMs: number,
): Promise<{ stopped: number; failure?: unknown }> {
  const abandoning = new AbortController();
  const timer = setTimeout(() => {
    abandoning.abort(new CliError(`the helper ended no sandbox for ${deadlineMs / 1000} s`));
  }, deadlineMs);
  let stopped = 0;
  try {
    const runtime = await startHelper({
      mainPath: findLocations().helperProgram,
      dataDir: folder,
      agentDir: join(folder, 'agent'),
      startsNone: true,
      abandon: abandoning.signal,
      ...toGroundOptions(),
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

/** With that of the innermost cause, which says what happened. */
function toReason(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${toReason(cause)}` : message;
}
