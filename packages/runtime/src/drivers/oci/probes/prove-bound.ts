import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Resolves when the file system mounted at `folder` holds at most `bytes`, shown by its own size and by filling it. The
 * file that filled it is removed, also when this rejects.
 */
export async function proveBound(folder: string, bytes: number): Promise<void> {
  const { bsize, blocks } = await statfs(folder);
  if (bsize * blocks > bytes) throw new Error(`a disk of ${bytes} bytes holds ${bsize * blocks}`);
  const path = join(folder, 'full');
  try {
    const error = await fill(path, bytes).catch((reason: NodeJS.ErrnoException) => reason);
    if (error === undefined) throw new Error('a full disk still takes data');
    if (error.code !== 'ENOSPC') throw error;
  } finally {
    await rm(path, { force: true });
  }
}

async function fill(path: string, bytes: number): Promise<undefined> {
  await using file = await open(path, 'w');
  const block = Buffer.alloc(2 ** 20, 1);
  for (let written = 0; written <= bytes; written += block.length) await file.appendFile(block);
  await file.sync();
  return undefined;
}
