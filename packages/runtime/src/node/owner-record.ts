import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { RuntimeError } from '../error.ts';
import type { Claim } from './opening.ts';

/** The owner of a node, on its disk. */
export interface OwnerRecord {
  readonly current: Claim | undefined;
  /**
   * Makes that server the owner, durably, and returns whether it replaces another one. Throws `RuntimeError` when the node belongs to
   * another installation or to a server with a higher epoch, or when two servers have the same.
   */
  accept(claim: Claim): boolean;
}

/** Opens the record at a path, whose folder exists. Throws when the file is damaged. */
export function openOwnerRecord(path: string): OwnerRecord {
  let current = read(path);
  return {
    get current() {
      return current;
    },
    accept: ({ installation, owner, epoch }) => {
      if (current !== undefined && current.installation !== installation)
        throw new RuntimeError(
          'unavailable',
          'this node belongs to another installation: run "skerry down" on it and start it with an empty data folder',
        );
      if (
        current !== undefined &&
        (epoch < current.epoch || (epoch === current.epoch && owner !== current.owner))
      )
        throw new RuntimeError(
          'unavailable',
          `another server owns this node, with epoch ${current.epoch}, and this one has ${epoch}`,
        );
      if (current?.epoch === epoch) return false;
      const next = { installation, owner, epoch };
      write(path, next);
      current = next;
      return true;
    },
  };
}

function read(path: string): Claim | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as Claim;
  } catch (error) {
    throw new Error(`${path}, which records the owner of this node, is damaged`, { cause: error });
  }
}

/**
 * Replaces the record in one rename, after the content is on the disk: a power cut leaves the old record or
 * the new one.
 */
function write(path: string, claim: Claim): void {
  const next = `${path}.next`;
  withFile(next, 'w', (file) => writeSync(file, `${JSON.stringify(claim)}\n`));
  renameSync(next, path);
  withFile(dirname(path), 'r', () => undefined);
}

function withFile(path: string, flags: string, work: (file: number) => unknown): void {
  const file = openSync(path, flags, 0o600);
  try {
    work(file);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
