import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { RuntimeError } from '../error.ts';
import { syncPath } from '../kernel/sync-path.ts';
import { requireOwnFolder, requireOwnTree } from './own-files.ts';

/** The name of the file, whose lines have the form of sha256sum(1). */
const NAME = 'SHA256SUMS';

/**
 * Compares every file below the folder with the hashes that were written beside them when the programs were put there.
 * Writes the hashes where there are none yet; where the folder cannot be written, it has none. Rejects with `damaged`
 * when a file differs, is missing, or came later.
 */
export const checkProgramHashes = async (folder: string): Promise<void> => {
  const path = join(folder, NAME);
  const kept = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  const found = await hashAll(folder);
  if (kept === undefined) {
    await keep(path, found).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EROFS' && error.code !== 'EACCES') throw error;
    });
    return;
  }
  const differing = findDiffering(kept, found);
  if (differing.length === 0) return;
  throw new RuntimeError(
    'damaged',
    `${join(folder, differing[0] as string)} is not as it was made: remove ${folder}, and it is made again`,
  );
};

/**
 * Says whether programs that were put into a folder before are still what they were, and this user's alone.
 * Rejects as `checkProgramHashes` does, and with an `UntrustedFileError`.
 */
export const checkPreparedPrograms = async (folder: string): Promise<void> => {
  requireOwnFolder(dirname(folder));
  requireOwnTree(folder);
  await checkProgramHashes(folder);
};

/** What another process is about to give its name; nothing runs it. */
const unfinished = /\.[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const hashAll = async (folder: string): Promise<string[]> => {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const names = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .filter((name) => name !== NAME && !unfinished.test(name));
  const lines: string[] = [];
  for (const name of names.sort()) lines.push(`${await hash(join(folder, name))}  ${name}`);
  return lines;
};

const hash = async (path: string): Promise<string> => {
  const digest = createHash('sha256');
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 }))
    digest.update(piece as Buffer);
  return digest.digest('hex');
};

const keep = async (path: string, lines: readonly string[]): Promise<void> => {
  const next = `${path}.${randomUUID()}`;
  try {
    await writeFile(next, lines.map((line) => `${line}\n`).join(''), { flush: true });
    await rename(next, path);
  } finally {
    await rm(next, { force: true });
  }
  await syncPath(dirname(path));
};

/** Names whose line is on one side alone. */
const findDiffering = (kept: string, found: readonly string[]): string[] => {
  const before = new Set(kept.split('\n').filter((line) => line !== ''));
  const now = new Set(found);
  return [...before.symmetricDifference(now)].map((line) => line.slice(line.indexOf('  ') + 2));
};
