import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const known = new Map<string, Promise<string>>();

/**
 * The digest of the files in an agent's folder, whose own name says only which folders are equal on one host. The
 * folder never changes, so it is read once by this process. Rejects with the error of the system call.
 */
export const digestAgentFolder = (folder: string): Promise<string> => {
  const found = known.get(folder);
  if (found) return found;
  const digest = readFolder(folder);
  known.set(folder, digest);
  digest.catch(() => known.delete(folder));
  return digest;
};

const readFolder = async (folder: string): Promise<string> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const hash = createHash('sha256');
  for (const path of paths.sort()) {
    const file = createHash('sha256');
    for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 }))
      file.update(chunk as Buffer);
    hash.update(`${JSON.stringify(path.slice(folder.length))} ${file.digest('hex')}\n`);
  }
  return `sha256:${hash.digest('hex')}`;
};
