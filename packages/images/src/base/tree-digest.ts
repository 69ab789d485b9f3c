import { createHash } from 'node:crypto';
import { closeSync, type Dirent, lstatSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

export interface TreeDigest {
  /** `sha256:` and 64 hex digits. */
  digest: string;
  fileCount: number;
  sizeBytes: number;
}

/**
 * Describes a tree by its content: names, types, owners, modes, link targets and every byte, but no times. Two trees
 * with the same digest look the same inside of a sandbox. Hard links count as files of their own. Rejects with the
 * reason of `signal`.
 */
export async function digestTree(
  root: string,
  { signal }: { signal?: AbortSignal | undefined } = {},
): Promise<TreeDigest> {
  const total = createHash('sha256');
  const buffer = Buffer.allocUnsafe(1 << 20);
  let fileCount = 0;
  let sizeBytes = 0;

  const add = (path: string, name: string, entry: Dirent | undefined): void => {
    const { mode, uid, gid } = lstatSync(path);
    let content = '';
    if (entry?.isSymbolicLink()) content = readlinkSync(path);
    else if (entry?.isFile()) {
      const file = digestFile(path, buffer);
      content = file.digest;
      sizeBytes += file.sizeBytes;
      fileCount += 1;
    }
    total.update(`${JSON.stringify([name, mode, uid, gid, content])}\n`);
  };

  const walk = async (folder: string, name: string): Promise<void> => {
    // Yields to timers, sockets and the abort of the caller.
    await setImmediate();
    signal?.throwIfAborted();
    const entries = readdirSync(folder, { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(folder, entry.name);
      add(path, `${name}/${entry.name}`, entry);
      if (entry.isDirectory()) await walk(path, `${name}/${entry.name}`);
    }
  };
  add(root, '', undefined);
  await walk(root, '');
  return { digest: `sha256:${total.digest('hex')}`, fileCount, sizeBytes };
}

function digestFile(path: string, buffer: Buffer): { digest: string; sizeBytes: number } {
  const hash = createHash('sha256');
  const file = openSync(path, 'r');
  let sizeBytes = 0;
  try {
    for (let length = readSync(file, buffer); length > 0; length = readSync(file, buffer)) {
      hash.update(buffer.subarray(0, length));
      sizeBytes += length;
    }
  } finally {
    closeSync(file);
  }
  return { digest: hash.digest('hex'), sizeBytes };
}
