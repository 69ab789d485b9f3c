import { setTimeout as delay } from 'node:timers/promises';
import type { PlatformClient } from '@skerry/platform-client';
import type { Simulation } from './start-simulation.ts';

/** Times since the end of a server. */
export interface Takeover {
  /** Until another server owned each node. */
  ownedMs: number;
  /** Until each node was ready as well. */
  readyMs: number;
}

const POLL_MS = 250;
const LONGEST_MS = 300_000;

/** Kills the first server, and watches how the others take its nodes over. */
export const measureTakeover = async ({ servers, peers, apis }: Simulation): Promise<Takeover> => {
  const api = apis.at(-1) as PlatformClient;
  const started = performance.now();
  await servers[0]?.stop('SIGKILL');
  let ownedMs: number | undefined;
  for (;;) {
    const { data = [] } = await api.GET('/skerry/v1/nodes');
    const tookMs = performance.now() - started;
    const isOwned = data.length > 0 && data.every(({ owner }) => owner && owner.address !== peers[0]);
    if (isOwned) ownedMs ??= tookMs;
    if (isOwned && data.every(({ state }) => state === 'ready'))
      return { ownedMs: ownedMs ?? tookMs, readyMs: tookMs };
    if (tookMs > LONGEST_MS)
      throw new Error(`not all nodes are ready\n${servers.at(-1)?.log().slice(-4_000)}`);
    await delay(POLL_MS);
  }
};
