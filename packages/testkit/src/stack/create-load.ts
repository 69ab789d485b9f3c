import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PlatformClient } from '@skerry/platform-client';

/** Calls that go on until `end`, and what has come of them. */
export interface Load extends AsyncDisposable {
  /** Sandboxes whose creation was acknowledged and that no call has tried to kill. */
  readonly created: ReadonlySet<string>;
  /** Those whose end was acknowledged. */
  readonly killed: ReadonlySet<string>;
  readonly refusals: readonly { status: number; retryAfter: string | null; message: string }[];
  readonly counts: { readonly acknowledged: number };
  end(): Promise<void>;
}

/** Creates and kills sandboxes, two at a time, at each of the servers in turn. */
export const createLoad = (servers: readonly PlatformClient[]): Load => {
  const created = new Set<string>();
  const killed = new Set<string>();
  const refusals: { status: number; retryAfter: string | null; message: string }[] = [];
  const counts = { acknowledged: 0 };
  let isOver = false;
  let turn = 0;
  const act = async (): Promise<void> => {
    turn += 1;
    const api = servers[turn % servers.length] as PlatformClient;
    const [oldest] = created.size > 2 ? created : [];
    if (oldest !== undefined) created.delete(oldest);
    // More than the room that the pages of the tables have, and cannot be compressed.
    const noise = randomBytes(10_000).toString('hex');
    const { data, error, response } = oldest
      ? await api.DELETE('/sandboxes/{sandboxID}', { params: { path: { sandboxID: oldest } } })
      : await api.POST('/v2/sandboxes', { body: { templateID: 'base', timeout: 600, envVars: { noise } } });
    if (!response.ok) {
      const retryAfter = response.headers.get('retry-after');
      refusals.push({ status: response.status, retryAfter, message: error?.message ?? '' });
      await sleep(100);
      return;
    }
    counts.acknowledged += 1;
    if (oldest !== undefined) killed.add(oldest);
    else if (data) created.add(data.sandboxID);
  };
  const loop = async (): Promise<void> => {
    while (!isOver) await act();
  };
  const loops = [loop(), loop()];
  const end = async (): Promise<void> => {
    isOver = true;
    await Promise.all(loops);
  };
  return { created, killed, refusals, counts, end, [Symbol.asyncDispose]: end };
};
