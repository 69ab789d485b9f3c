import type { Clock } from '../clock.ts';
import { isAlive, notRunning } from '../sandboxes/running.ts';
import type { SandboxRow, SandboxStore } from '../store/store.ts';

/** How long what is known of a sandbox can be asked for after its end. */
const KEEP_OBSERVED_MS = 7 * 86_400_000;

/**
 * The sandbox that a question about its past is about: unlike for anything else, it may have ended, so that its owner learns
 * why. Rejects with `not_found` when there is none, it is not usable yet, or its end is longer ago than that.
 */
export const requireObserved = async (
  { store, clock }: { store: Pick<SandboxStore, 'findSandbox'>; clock: Pick<Clock, 'now'> },
  id: string,
): Promise<SandboxRow> => {
  const row = await store.findSandbox(id);
  if (row === undefined || row.state === 'starting') throw notRunning(id);
  if (isAlive(row.state) || row.state === 'killing') return row;
  if ((row.endedAt ?? 0) < clock.now() - KEEP_OBSERVED_MS) throw notRunning(id);
  return row;
};
