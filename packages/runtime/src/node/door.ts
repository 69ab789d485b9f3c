import type { Duplex } from 'node:stream';
import { RecycledReads } from '@skerry/contract/recycled-reads';
import type { AddressedRuntime } from '../drivers/guest-socket.ts';
import { isRuntimeError, RuntimeError } from '../error.ts';
import { join } from './join.ts';
import type { DoorRequest } from './opening.ts';

/**
 * Joins a connection of a server to a stream to an agent of this host. Calls `accept` before the first byte. Rejects as
 * `Instance.connect` does, with `unavailable` also for a run that has ended: a stale route never reaches another run.
 */
export async function openDoor(
  runtime: AddressedRuntime,
  { instance: id, birthId, runId, port }: DoorRequest,
  outside: Duplex,
  accept: () => void,
): Promise<void> {
  const instance = await runtime.get(id).catch((error: unknown): never => {
    throw isRuntimeError(error, 'not_found')
      ? new RuntimeError('unavailable', `sandbox ${id} has ended`)
      : error;
  });
  if ((birthId !== undefined && instance.birthId !== birthId) || instance.runId !== runId)
    throw new RuntimeError('unavailable', `the run of sandbox ${id} has ended`);
  const leaving = new AbortController();
  const leave = (): void => leaving.abort();
  outside.once('close', leave);
  const { signal } = leaving;
  const reader = new RecycledReads();
  const inside =
    port === 'control'
      ? await instance.control({ signal })
      : await instance.connect(port, { signal, reader });
  outside.off('close', leave);
  if (outside.destroyed) {
    inside.destroy();
    return;
  }
  accept();
  join(outside, { stream: inside, reader });
}
