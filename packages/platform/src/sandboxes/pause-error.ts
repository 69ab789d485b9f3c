import { ApiError, invalid, unimplemented } from '@skerry/contract/error';
import { type Features, isRuntimeError } from '@skerry/runtime';
import type { PauseKind, SandboxState } from '../store/store.ts';

/** Throws when this host cannot pause so, naming `field`, which asked for it: 400, or 501 where it cannot pause at all. */
export const requirePause = ({ pause }: Pick<Features, 'pause'>, kind: PauseKind, field: string): void => {
  if (pause[kind]) return;
  if (!pause.memory && !pause.filesystem)
    throw unimplemented('this server cannot pause sandboxes on its host');
  throw invalid(
    kind === 'memory'
      ? `${field}: this server cannot keep the memory of a sandbox; false keeps its files`
      : `${field}: this server cannot keep the files of a sandbox without its memory`,
  );
};

/** What the caller of a pause that failed learns; the cause is for the log. `state` is what became of the sandbox. */
export const toPauseError = (cause: unknown, state: SandboxState | undefined): ApiError => {
  if (cause instanceof ApiError) return cause;
  if (state !== 'running') {
    return new ApiError('internal', 'the sandbox could not be paused and does not run any more', { cause });
  }
  if (isRuntimeError(cause, 'exhausted')) {
    return new ApiError('unavailable', 'this host has no room to keep the sandbox now; it runs on', {
      cause,
    });
  }
  return new ApiError('internal', 'the sandbox could not be paused; it runs on', { cause });
};
