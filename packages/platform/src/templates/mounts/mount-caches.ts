import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { createTurns } from '@skerry/contract/turns';
import type { ArchiveStore } from '../uploads/archive-store.ts';

/** Names one cache: a template has caches of its own. */
export interface CacheName {
  templateId: string;
  id: string;
}

/** The files of `RUN --mount=type=cache` between commands, each cache as an archive. */
export interface MountCaches {
  /** Undefined for a cache that is new, or was removed to make room. The caller reads the stream or destroys it. */
  open(name: CacheName): Promise<{ archive: Readable; sizeBytes: number } | undefined>;
  /** Writes a cache as it arrives, in place of the earlier one. Rejects as `ArchiveStore.write` does; the earlier one is then still there. */
  write(name: CacheName, archive: AsyncIterable<Uint8Array>): Promise<void>;
  /** Runs work while no other has that cache to itself. */
  alone<T>(name: CacheName, work: () => Promise<T>, signal: AbortSignal): Promise<T>;
}

const toHash = ({ templateId, id }: CacheName): string =>
  createHash('sha256')
    .update(JSON.stringify([templateId, id]))
    .digest('hex');

export const createMountCaches = (store: Pick<ArchiveStore, 'open' | 'has' | 'write'>): MountCaches => {
  const turns = new Map<string, ReturnType<typeof createTurns>>();
  return {
    open: async (name) => {
      const hash = toHash(name);
      await store.has(hash);
      return store.open(hash);
    },
    write: (name, archive) => store.write(toHash(name), archive, {}),
    alone: (name, work, signal) => {
      const hash = toHash(name);
      const own = turns.get(hash) ?? createTurns(1);
      turns.set(hash, own);
      return own.take(work, signal);
    },
  };
};
