import type { Clock } from '../clock.ts';
import { isAlive, toMissingError } from '../sandboxes/visible-state.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

/** How long logs and metrics of a sandbox are available after its end. */
const KEEP_OBSERVED_MS = 7 * 86_400_000;

/**
 * The sandbox of a query about its past. The sandbox may have ended, so that its owner can find out why. Rejects with
 * `not_found` when it is unknown, not usable yet, or ended longer ago than that.
 */
export const requireObserved = async (
  { store, clock }: { store: Pick<Store, 'findSandbox'>; clock: Pick<Clock, 'now'> },
  id: string,
): Promise<SandboxRow> => {
  const row = await store.findSandbox(id);
  if (row === undefined || row.state === 'starting') throw toMissingError(id, row, clock);
  if (isAlive(row.state) || row.state === 'killing') return row;
  if ((row.endedAt ?? 0) < clock.now() - KEEP_OBSERVED_MS) throw toMissingError(id, row, clock);
  return row;
};
