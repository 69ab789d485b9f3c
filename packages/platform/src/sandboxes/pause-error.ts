import { ApiError, invalid, unimplemented } from '@skerry/contract/error';
import { describeObstacle, type Features, isPassing, isRuntimeError, ObstacleError } from '@skerry/runtime';
import { retryHeaders } from '../runtime-lost.ts';
import type { PauseKind, SandboxState } from '../store/rows.ts';

/**
 * Throws when this host cannot pause in this way, naming `field`, which requested it: 400, or 501 where it cannot
 * pause at all.
 */
export const requirePause = ({ pause }: Pick<Features, 'pause'>, kind: PauseKind, field: string): void =>
  requireCapture(pause, kind, { field, act: 'pause sandboxes' });

/** Throws like `requirePause`, for a pause that has to keep the memory. */
export const requireMemory = ({ pause }: Pick<Features, 'pause'>, field: string): void => {
  if (pause.memory) return;
  throw invalid(
    `${field}: this server cannot checkpoint the memory of a sandbox, which that needs; leave it out`,
  );
};

/** Throws 501 when this host cannot make snapshots of this kind. */
export const requireSnapshot = ({ snapshot }: Pick<Features, 'snapshot'>, kind: PauseKind): void =>
  requireCapture(snapshot, kind, { field: 'body.memory', act: 'make snapshots of sandboxes' });

/** Throws 501 when this host cannot copy a running sandbox in this way. */
export const requireFork = ({ snapshot }: Pick<Features, 'snapshot'>, kind: PauseKind): void => {
  if (snapshot[kind]) return;
  const refusal = `this server cannot capture the ${kind === 'memory' ? 'processes' : 'files'} of sandboxes on its host`;
  throw unimplemented(
    kind === 'memory' && snapshot.filesystem
      ? `${refusal}; POST /v2/sandboxes/{sandboxID}/fork with "memory": false copies the files only`
      : refusal,
  );
};

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
  const sentence = 'the sandbox cannot be paused with its memory now';
  const obstacle = toObstacleError(cause, { sentence, outcome: becomes.replace(/^t/, 'T') });
  if (obstacle !== undefined) return obstacle;
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

/**
 * The error for the caller of a pause, fork or snapshot that something inside the sandbox prevents: 503 where it ends by
 * itself within seconds, and 409 otherwise. Undefined for other causes. `sentence` tells what was requested, and `outcome` what
 * became of the sandbox.
 */
export const toObstacleError = (
  cause: unknown,
  { sentence, outcome }: { sentence: string; outcome: string },
): ApiError | undefined => {
  if (!(cause instanceof ObstacleError)) return undefined;
  const { obstacle } = cause;
  const { kind, process } = obstacle;
  const passes = isPassing(obstacle);
  const advice = passes
    ? 'Try again in a few seconds.'
    : 'It stays so until the program changes that; "memory": false keeps the files alone.';
  return new ApiError(
    passes ? 'unavailable' : 'conflict',
    `${sentence}: ${describeObstacle(obstacle)}. ${advice} ${outcome}.`,
    {
      cause,
      reason: 'memory_not_kept',
      obstacle: { kind, ...(process && { process }) },
      headers: passes ? { 'Retry-After': '2' } : {},
    },
  );
};

const outcomes: Partial<Record<SandboxState, string>> = {
  running: 'the sandbox is still running',
  pausing: 'the sandbox is frozen until the pause can be completed',
};

const NO_ROOM = 'sandbox_capacity_unavailable';

/** Whether the host was full. One sandbox may fill it, and the pause of another one fails. */
export const isForWantOfRoom = (error: unknown): boolean =>
  error instanceof ApiError && error.reason === NO_ROOM;
