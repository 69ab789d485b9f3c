import { lstatSync, lutimesSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

/**
 * Gives each entry of a tree that was written at `sinceMs` or later, by the clock of its file system, the time of the newest other one, in
 * whole seconds: 0 when there is none. Then the times of an image do not depend on when it is made. Rejects with the reason of `signal`; a
 * part of the tree is changed then.
 */
export async function settleTimes(
  root: string,
  { sinceMs, signal }: { sinceMs: number; signal?: AbortSignal | undefined },
): Promise<void> {
  let newestMs = 0;
  const written: string[] = [];

  const note = (path: string): void => {
    const { mtimeMs } = lstatSync(path);
    if (mtimeMs >= sinceMs) written.push(path);
    else newestMs = Math.max(newestMs, mtimeMs);
  };

  const walk = async (folder: string): Promise<void> => {
    // Yields to timers, sockets and the abort of the caller.
    await setImmediate();
    signal?.throwIfAborted();
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      note(path);
      if (entry.isDirectory()) await walk(path);
    }
  };

  note(root);
  await walk(root);
  const seconds = Math.floor(newestMs / 1000);
  for (const path of written) lutimesSync(path, seconds, seconds);
}
