import { type ApiError, notFound } from '@skerry/contract/error';
import type { SandboxRow, SandboxStore } from '../store/store.ts';

/** The answer for a sandbox that never was, is over, is on its way out, or is not usable yet: callers cannot tell. */
export const notRunning = (id: string): ApiError => notFound(`sandbox "${id}" was not found`);

/** Rejects with `not_found` unless the sandbox is running. */
export const requireRunning = async (
  store: Pick<SandboxStore, 'findSandbox'>,
  id: string,
): Promise<SandboxRow> => {
  const row = await store.findSandbox(id);
  if (row?.state !== 'running') throw notRunning(id);
  return row;
};
