import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { createTurns } from '@skerry/contract/turns';

/** An archive of the folder. */
export interface ArchiveFile {
  hash: string;
  sizeBytes: number;
  /** The last time that it was written or asked for. */
  usedAt: number;
}

/** The archives of one folder, whose changes never overlap: what `touch` has found is not removed by a decision before it. */
export interface ArchiveFiles {
  toPath(hash: string): string;
  /** The least recently used first. None where the folder is missing. */
  list(): Promise<ArchiveFile[]>;
  /** Marks an archive as used now. Resolves with whether it is there. */
  touch(hash: string, now: number): Promise<boolean>;
  /** Removes an archive if `isUnneeded` is true for what it then is. Resolves with the bytes that it had. */
  removeIf(hash: string, isUnneeded: (archive: ArchiveFile) => boolean): Promise<number>;
  /** Runs work that no other change overlaps. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
}

const form = /^[0-9a-f]{64}$/;

/** Undefined for what is missing. Throws every other error. */
export const ifThere = (error: NodeJS.ErrnoException): undefined => {
  if (error.code !== 'ENOENT') throw error;
  return undefined;
};

export const createArchiveFiles = (folder: string): ArchiveFiles => {
  const turns = createTurns(1);
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => turns.take(work);
  const toPath = (hash: string): string => join(folder, hash);
  const read = async (hash: string): Promise<ArchiveFile | undefined> => {
    const found = await stat(toPath(hash)).catch(ifThere);
    return found && { hash, sizeBytes: found.size, usedAt: found.mtimeMs };
  };
  return {
    toPath,
    inTurn,
    list: async () => {
      const names = (await readdir(folder).catch(ifThere)) ?? [];
      const all = await Promise.all(names.filter((name) => form.test(name)).map(read));
      return all.filter((one) => one !== undefined).toSorted((one, other) => one.usedAt - other.usedAt);
    },
    touch: (hash, now) =>
      inTurn(async () => {
        const time = new Date(now);
        const touched = await utimes(toPath(hash), time, time).then(() => true, ifThere);
        return touched === true;
      }),
    removeIf: (hash, isUnneeded) =>
      inTurn(async () => {
        const found = await read(hash);
        if (found === undefined || !isUnneeded(found)) return 0;
        await rm(toPath(hash), { force: true });
        return found.sizeBytes;
      }),
  };
};
