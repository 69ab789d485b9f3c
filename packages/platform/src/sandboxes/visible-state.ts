import { type ApiError, conflict, notFound } from '@skerry/contract/error';
import type { Clock } from '../clock.ts';
import type { EndCause, SandboxRow, SandboxState } from '../store/rows.ts';
import type { Store } from '../store/store.ts';

export interface StateContext {
  store: Pick<Store, 'findSandbox'>;
  clock: Pick<Clock, 'now'>;
}

/** Whether callers see a sandbox in this state, as running or as paused. */
export const isAlive = (state: SandboxState): boolean =>
  state === 'running' || state === 'pausing' || state === 'paused' || state === 'resuming';

/** Whether traffic resumes a sandbox that does not run now: its creator wants that, and its memory is kept. */
export const isWakeable = ({
  state,
  pausedWith,
  wakeMs,
}: Pick<SandboxRow, 'state' | 'pausedWith' | 'wakeMs'>): boolean =>
  isAlive(state) && state !== 'running' && pausedWith === 'memory' && wakeMs !== null;

/** The error while a sandbox is between running and paused; undefined in any other state. */
export const toBusyError = (row: SandboxRow | undefined): ApiError | undefined => {
  if (row?.state === 'pausing') return conflict(`sandbox "${row.id}" is being paused`);
  if (row?.state === 'resuming') return conflict(`sandbox "${row.id}" is being resumed`);
  return undefined;
};

/**
 * The error for a sandbox that a call cannot use, with what is on record of it: that it is paused, or when and why it ended. Callers
 * cannot distinguish an unknown sandbox from one that did not start.
 */
export const toMissingError = (
  id: string,
  row: SandboxRow | undefined,
  { now }: Pick<Clock, 'now'>,
): ApiError => {
  if (row?.state === 'paused') return notFound(`sandbox "${id}" is paused: connect resumes it`);
  const end = row && describeEnd(row, now());
  return notFound(end === undefined ? `sandbox "${id}" was not found` : `sandbox "${id}" ${end}`);
};

/** Returns the error of `toMissingError` for the sandbox of that id. */
export const explainMissing = async ({ store, clock }: StateContext, id: string): Promise<ApiError> =>
  toMissingError(id, await store.findSandbox(id), clock);

/** Rejects unless the sandbox is running: with `conflict` when it is in a transition, else with `not_found`. */
export const requireRunning = async ({ store, clock }: StateContext, id: string): Promise<SandboxRow> => {
  const row = await store.findSandbox(id);
  if (row?.state !== 'running') throw toBusyError(row) ?? toMissingError(id, row, clock);
  return row;
};

const describeEnd = (row: SandboxRow, now: number): string | undefined => {
  if (row.state !== 'killing' && row.state !== 'ended') return undefined;
  const ago = row.endedAt === null ? 'just now' : `${toAge(now - row.endedAt)} ago`;
  const ends: Record<EndCause, string | undefined> = {
    killed: `was killed ${ago}`,
    expired: `ended ${ago}: its time to live of ${toSpan(row.endAt - row.startedAt)} was over`,
    exited: `ended by itself ${ago}`,
    lost: `was lost ${ago}: its host no longer had it`,
    failed: undefined,
  };
  return row.cause === null ? undefined : ends[row.cause];
};

const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const;

/** How long ago something was, rounded down to a unit of which there are at least two: `3 s`, `90 s`, `2 min`. */
const toAge = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  return toUnits(seconds, (size) => seconds >= 2 * size);
};

/** A time to live in the largest unit that gives a whole number: `15 s`, `90 min`, `1 h`. */
const toSpan = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1000);
  return toUnits(seconds, (size) => seconds > 0 && seconds % size === 0);
};

const toUnits = (seconds: number, isFitting: (sizeSeconds: number) => boolean): string => {
  const [unit, size] = UNITS.find(([, one]) => isFitting(one)) ?? ['s', 1];
  return `${Math.floor(seconds / size)} ${unit}`;
};
