import { lstat, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Moves a folder to a path of the same file system. Where a folder is there it keeps what else it has, and a file of the same name is
 * replaced. No link that is there is followed. Rejects with the error of rename(2) where a folder would replace something else.
 */
export async function mergeFolder(from: string, to: string): Promise<void> {
  const there = await lstat(to).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!there?.isDirectory()) return rename(from, to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const move = entry.isDirectory() ? mergeFolder : rename;
    await move(join(from, entry.name), join(to, entry.name));
  }
}
