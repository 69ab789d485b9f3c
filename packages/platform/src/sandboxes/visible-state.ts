import { type ApiError, conflict, notFound } from '@skerry/contract/error';
import type { SandboxRow, SandboxState, SandboxStore } from '../store/store.ts';

/** The error for an unknown, ended, ending, or not yet usable sandbox: callers cannot distinguish these. */
export const notRunning = (id: string): ApiError => notFound(`sandbox "${id}" was not found`);

/** Whether callers see a sandbox in this state, as running or as paused. */
export const isAlive = (state: SandboxState): boolean =>
  state === 'running' || state === 'pausing' || state === 'paused' || state === 'resuming';

/** The error while a sandbox is between running and paused; undefined in any other state. */
export const toBusyError = (row: SandboxRow | undefined): ApiError | undefined => {
  if (row?.state === 'pausing') return conflict(`sandbox "${row.id}" is being paused`);
  if (row?.state === 'resuming') return conflict(`sandbox "${row.id}" is being resumed`);
  return undefined;
};

/** Rejects unless the sandbox is running: with `conflict` when it is in a transition, else with `not_found`. */
export const requireRunning = async (
  store: Pick<SandboxStore, 'findSandbox'>,
  id: string,
): Promise<SandboxRow> => {
  const row = await store.findSandbox(id);
  if (row?.state !== 'running') throw toBusyError(row) ?? notRunning(id);
  return row;
};
