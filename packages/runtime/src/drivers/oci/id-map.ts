import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';

/** Ids of one sandbox: 0 to 65,535 inside are `baseId` and up on the host, and belong to no other sandbox. */
export const ID_COUNT = 65_536;
const FIRST_BASE_ID = 100_000;

export const toBaseId = (slot: number): number => FIRST_BASE_ID + slot * ID_COUNT;

export interface IdMaps {
  /** A descriptor of a user namespace whose root is `baseId`; it stays open until `close`. */
  open(baseId: number): Promise<number>;
  close(): void;
}

/**
 * Keeps one user namespace per range of ids, for mounting images with shifted owners. Slots are used again, and the
 * range after the one just asked for is made ahead, so that a create seldom waits for the process this takes.
 */
export const createIdMaps = (): IdMaps => {
  const namespaces = new Map<number, Promise<number>>();

  const prepare = (baseId: number): Promise<number> => {
    const known = namespaces.get(baseId);
    if (known) return known;
    const made = openUserNamespace(baseId);
    namespaces.set(baseId, made);
    made.catch(() => namespaces.delete(baseId));
    return made;
  };

  return {
    open: async (baseId) => {
      const fd = await prepare(baseId);
      // A failure here is met again, and reported, by the create that needs this range.
      prepare(baseId + ID_COUNT).catch(() => undefined);
      return fd;
    },
    close: () => {
      for (const made of namespaces.values()) made.then(closeSync, () => undefined);
      namespaces.clear();
    },
  };
};

/** A namespace lives as long as a descriptor of it; only making one takes a process, which ends again here. */
const openUserNamespace = async (baseId: number): Promise<number> => {
  const child = spawn('unshare', ['--user', 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  try {
    const failed = once(child, 'exit').then(() => Promise.reject(new Error('unshare --user failed')));
    child.stdin.write('\n');
    // The echo comes from inside the new namespace.
    await Promise.race([once(child.stdout, 'data'), failed]);
    for (const map of ['uid_map', 'gid_map']) {
      writeFileSync(`/proc/${child.pid}/${map}`, `0 ${baseId} ${ID_COUNT}`);
    }
    return openSync(`/proc/${child.pid}/ns/user`, 'r');
  } finally {
    child.kill('SIGKILL');
  }
};
