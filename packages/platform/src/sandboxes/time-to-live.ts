import { invalid } from '@skerry/contract/error';
import type { Clock } from '../clock.ts';
import type { Expiry } from '../expiry.ts';
import type { Limits } from '../limits.ts';
import type { SandboxRow } from '../store/rows.ts';
import type { Store } from '../store/store.ts';
import { explainMissing, requireRunning } from './visible-state.ts';

/**
 * Moves the end of a running sandbox, never beyond the longest run: a later end is capped silently, and refused with
 * `invalid_argument` once the longest run is over. Rejects with `not_found` unless the sandbox is running.
 */
export interface TimeToLive {
  /** Ends it `timeoutMs` from now, sooner or later than before. */
  set(id: string, timeoutMs: number): Promise<SandboxRow>;
  /** Extends its life to at least `timeoutMs` from now. A later end stays. */
  extend(id: string, timeoutMs: number): Promise<SandboxRow>;
}

export interface TimeToLiveOptions {
  store: Pick<Store, 'findSandbox' | 'moveEnd'>;
  expiry: Pick<Expiry, 'schedule'>;
  clock: Clock;
  limits: Pick<Limits, 'maxRunMs'>;
}

export const createTimeToLive = ({ store, expiry, clock, limits }: TimeToLiveOptions): TimeToLive => {
  const move = async (id: string, timeoutMs: number, { extendOnly }: { extendOnly: boolean }) => {
    const row = await requireRunning({ store, clock }, id);
    const now = clock.now();
    const latest = row.startedAt + limits.maxRunMs;
    if (latest <= now && timeoutMs > 0) {
      throw invalid(`sandbox "${id}" has reached its maximum run time of ${limits.maxRunMs / 1000} s`);
    }
    const moved = await store.moveEnd(id, {
      endAt: Math.min(now + timeoutMs, latest),
      // A timeout of 0 ends the sandbox: a later resume lives for as long as before.
      timeToLiveMs: extendOnly || timeoutMs === 0 ? undefined : timeoutMs,
      extendOnly,
    });
    if (moved === undefined) throw await explainMissing({ store, clock }, id);
    expiry.schedule(id, moved.endAt);
    return moved;
  };
  return {
    set: (id, timeoutMs) => move(id, timeoutMs, { extendOnly: false }),
    extend: (id, timeoutMs) => move(id, timeoutMs, { extendOnly: true }),
  };
};
