import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Writable } from 'node:stream';

/**
 * Writes a file that has its name when it is complete, in place of what has that name. Until then it is a hidden file of its own
 * beside it, never one that is there or that a link names. When `write` rejects, nothing is left.
 */
export async function writeWhole(
  file: string,
  write: (into: Writable) => Promise<void>,
  { mode = 0o666 }: { mode?: number } = {},
): Promise<void> {
  const part = join(dirname(file), `.skerry-${randomUUID()}.part`);
  const handle = await open(part, 'wx', mode);
  try {
    await write(handle.createWriteStream());
    await rename(part, file);
  } finally {
    await handle.close();
    await rm(part, { force: true });
  }
}
