import type { Clock } from '../clock.ts';
import type { Copies } from '../hosts/copies.ts';
import type { Hosts } from '../hosts/hosts.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/store.ts';
import type { Retries } from './retries.ts';

/** Removes unused copies from the blob store. */
export interface CopyCollector {
  /** Removes these copies, which are `removing`, and now and then what no record names; by one server of several. Never rejects. */
  collect(useless: readonly string[]): Promise<void>;
  /** Looks at the next `collect` whether a copy that failed is on no record any more, and removes it then. */
  suspect(id: string): void;
}

/** A server that wakes up after its lease may have written what is on no record any more. */
const SWEEP_MS = 60 * 60_000;

export const createCopyCollector = ({
  store,
  copies,
  hosts,
  retries,
  signal,
  clock,
  log,
}: {
  store: Pick<Store, 'forgetBlobCopy' | 'listBlobCopyIds'>;
  copies: Pick<Copies, 'remove' | 'listIds'>;
  hosts: Pick<Hosts, 'isBuilder'>;
  retries: Retries;
  signal: AbortSignal;
  clock: Pick<Clock, 'elapsed'>;
  log: Log;
}): CopyCollector => {
  let sweptAt = Number.NEGATIVE_INFINITY;
  const suspected = new Set<string>();

  const report = (id: string, error: unknown): void => {
    if (signal.aborted) return;
    retries.failed(id);
    const what = 'a copy could not be removed from the blob store; this will be retried';
    log.warn(what, { copyId: id, error });
  };

  /** A copy gets its row before its first blob: what is there without one was forgotten, and its id is not used again. */
  const removeUnknown = async (found: readonly string[]): Promise<void> => {
    const known = new Set(await store.listBlobCopyIds());
    for (const id of found) if (!known.has(id)) await copies.remove(id, { signal });
  };

  const sweep = async (): Promise<void> => {
    const found: string[] = [];
    for await (const id of copies.listIds({ signal })) found.push(id);
    await removeUnknown(found);
  };

  const removeUseless = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids) {
      if (signal.aborted || !hosts.isBuilder) return;
      if (!retries.isDue(id)) continue;
      try {
        await copies.remove(id, { signal });
        await store.forgetBlobCopy(id);
      } catch (error) {
        report(id, error);
      }
    }
  };

  return {
    suspect: (id) => void suspected.add(id),
    collect: async (useless) => {
      await removeUseless(useless);
      try {
        const failed = [...suspected];
        if (failed.length > 0) await removeUnknown(failed);
        for (const id of failed) suspected.delete(id);
        if (!hosts.isBuilder || clock.elapsed() - sweptAt < SWEEP_MS) return;
        sweptAt = clock.elapsed();
        await sweep();
      } catch (error) {
        if (!signal.aborted)
          log.warn('the blob store could not be searched for what no record names', { error });
      }
    },
  };
};
