import { join, resolve } from 'node:path';
import { startHelper } from '@skerry/runtime';
import { CliError } from './cli-error.ts';
import { isDataFolder, readServerAddress, removeServerAddress } from './data-folder.ts';
import { lockDataFolder, tryLock } from './data-lock.ts';
import { leaveGround, toGroundOptions } from './ground.ts';
import { findLocations } from './locations.ts';

/** How long a server may take to answer its last requests. */
const SERVER_STOP_MS = 20_000;

/**
 * Ends the server of the folder when one runs, then every sandbox made from it, with all their traces on this host.
 * The folder itself stays: base images and the database are kept. Safe to repeat; throws for a folder that is not skerry's.
 */
export async function takeDown({ dataDir }: { dataDir: string }): Promise<{ stopped: number }> {
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => leaveGround());
  const folder = resolve(dataDir);
  if (!isDataFolder(folder)) throw new CliError(`${folder} is not a data folder of skerry`);
  const free = tryLock(folder);
  // Who holds the lock is the server that wrote its pid, so this pid cannot be another program's.
  if (!free) stopServer(folder);
  const lock = free ?? (await lockDataFolder(folder, { waitMs: SERVER_STOP_MS }));
  try {
    removeServerAddress(folder);
    const { helperProgram } = findLocations();
    const runtime = await startHelper({
      mainPath: helperProgram,
      dataDir: folder,
      agentDir: join(folder, 'agent'),
      startsNone: true,
      ...toGroundOptions(),
    });
    try {
      let stopped = 0;
      for await (const instance of runtime.list()) {
        await instance.stop();
        stopped += 1;
      }
      return { stopped };
    } finally {
      await runtime.close();
    }
  } finally {
    lock.release();
  }
}

function stopServer(folder: string): void {
  const server = readServerAddress(folder);
  if (!server) throw new CliError(`a server of ${folder} is just starting or stopping: try again`);
  try {
    process.kill(server.pid, 'SIGTERM');
  } catch (error) {
    // It ended between the look and the signal, which is what was wanted.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
