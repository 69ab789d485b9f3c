import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { BuildFile } from './build-file.ts';

/** The hash of a step, and those of its files by their names in the archive. */
export interface FilesHash {
  /** 64 digits of lower case. */
  hash: string;
  contents: ReadonlyMap<string, string>;
}

/**
 * Returns a hash of the arguments and of the names, types, modes, link targets and contents of files, which does not depend on folder
 * and time. `files` must be sorted by name.
 */
export async function hashFiles(
  args: readonly string[],
  files: readonly BuildFile[],
  signal: AbortSignal,
): Promise<FilesHash> {
  const contents = new Map<string, string>();
  const total = createHash('sha256').update(`${JSON.stringify(['skerry-files-1', ...args])}\n`);
  for (const file of files) {
    const { name, type, mode } = file;
    const known = file.type === 'symlink' ? file.target : '';
    const content = file.type === 'file' ? await hashContent(file, signal) : '';
    if (file.type === 'file') contents.set(name, content);
    // The mode of a link has no meaning.
    total.update(`${JSON.stringify([name, type, type === 'symlink' ? 0 : mode, known, content])}\n`);
  }
  return { hash: total.digest('hex'), contents };
}

async function hashContent({ path }: { path: string }, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { signal })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
