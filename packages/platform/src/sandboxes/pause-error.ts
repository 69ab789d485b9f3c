import { ApiError, invalid, unimplemented } from '@skerry/contract/error';
import { type Features, isRuntimeError } from '@skerry/runtime';
import { retryHeaders } from '../runtime-lost.ts';
import type { PauseKind, SandboxState } from '../store/store.ts';

/**
 * Throws when this host cannot pause in this way, naming `field`, which requested it: 400, or 501 where it cannot
 * pause at all.
 */
export const requirePause = ({ pause }: Pick<Features, 'pause'>, kind: PauseKind, field: string): void =>
  requireCapture(pause, kind, { field, act: 'pause sandboxes' });

/** As `requirePause`, for a snapshot. */
export const requireSnapshot = ({ snapshot }: Pick<Features, 'snapshot'>, kind: PauseKind): void =>
  requireCapture(snapshot, kind, { field: 'body.memory', act: 'make snapshots of sandboxes' });

const requireCapture = (
  can: { memory: boolean; filesystem: boolean },
  kind: PauseKind,
  { field, act }: { field: string; act: string },
): void => {
  if (can[kind]) return;
  if (!can.memory && !can.filesystem) throw unimplemented(`this server cannot ${act} on its host`);
  throw invalid(
    kind === 'memory'
      ? `${field}: this server cannot checkpoint the memory of a sandbox; set it to false to keep the files only`
      : `${field}: this server cannot keep the files of a sandbox without its memory`,
  );
};

/**
 * The error for the caller of a failed pause; the cause is for the log. `state` is the state of the sandbox
 * afterwards.
 */
export const toPauseError = (cause: unknown, state: SandboxState | undefined): ApiError => {
  if (cause instanceof ApiError) return cause;
  const becomes = outcomes[state ?? 'ended'];
  if (becomes === undefined) {
    return new ApiError('internal', 'the sandbox could not be paused and has ended', { cause });
  }
  if (isRuntimeError(cause, 'exhausted')) {
    const message = `this host has too little free space to pause the sandbox now; ${becomes}`;
    return new ApiError('unavailable', message, { cause, reason: NO_ROOM });
  }
  if (isRuntimeError(cause, 'unavailable')) {
    const message = `the pause was interrupted; ${becomes}`;
    return new ApiError('unavailable', message, { cause, headers: retryHeaders(cause) });
  }
  return new ApiError('internal', `the sandbox could not be paused; ${becomes}`, { cause });
};

const outcomes: Partial<Record<SandboxState, string>> = {
  running: 'the sandbox is still running',
  pausing: 'the sandbox is frozen until the pause can be completed',
};

const NO_ROOM = 'sandbox_capacity_unavailable';

/** Whether the host was full. One sandbox may fill it, and the pause of another one fails. */
export const isForWantOfRoom = (error: unknown): boolean =>
  error instanceof ApiError && error.reason === NO_ROOM;
