import type { Clock } from './clock.ts';
import type { Hosts, Requirement } from './hosts/hosts.ts';
import type { Store } from './store/store.ts';

/** What a server cannot serve without. */
export type Part = 'database' | Requirement;

/** Those who probe wait for a second or more. */
const LIMIT_MS = 2_000;
/** Anyone may probe, as often as they like. */
const KEPT_MS = 1_000;

/** Returns a function that finds out what is missing now, for all callers of a second together. It never rejects. */
export function createFindMissing({
  store,
  hosts,
  clock,
}: {
  store: Pick<Store, 'findTemplate'>;
  hosts: Pick<Hosts, 'findMissing'>;
  clock: Pick<Clock, 'elapsed' | 'after'>;
}): () => Promise<readonly Part[]> {
  const within = async <T>(work: Promise<T>, late: T): Promise<T> => {
    let cancel = (): void => {};
    const tooLate = new Promise<T>((resolve) => {
      cancel = clock.after(LIMIT_MS, () => resolve(late));
    });
    try {
      return await Promise.race([work, tooLate]);
    } catch {
      // Whatever the reason is: the part does not answer.
      return late;
    } finally {
      cancel();
    }
  };
  const find = async (): Promise<readonly Part[]> => {
    const [database, others] = await Promise.all([
      within<readonly Part[]>(
        store.findTemplate('base').then(() => []),
        ['database'],
      ),
      within<readonly Part[]>(hosts.findMissing(), ['driver']),
    ]);
    return [...database, ...others];
  };
  let last: { at: number; found: Promise<readonly Part[]> } | undefined;
  return () => {
    const now = clock.elapsed();
    if (last === undefined || now - last.at >= KEPT_MS) last = { at: now, found: find() };
    return last.found;
  };
}
