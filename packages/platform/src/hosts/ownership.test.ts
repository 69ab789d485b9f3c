import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LeaseHolder } from '../store/leases/lease-rows.ts';
import { createStore } from '../store/sqlite.ts';
import type { Store } from '../store/store.ts';
import { createManualClock } from '../testing/manual-clock.ts';
import { createRecordingLog } from '../testing/recording-log.ts';
import { createOwnership, type OwnershipOptions } from './ownership.ts';

const leaseMs = 6_000;
const toHolder = (owner: string): LeaseHolder => ({ owner, address: `${owner}:1`, leaseMs });
const toNodes = (...names: string[]) => names.map((name) => ({ name, address: `${name}:1` }));

let folder: string;
let store: Store;
let manual: ReturnType<typeof createManualClock>;
let databaseNow: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skerry-ownership-'));
  databaseNow = 1_000_000;
  manual = createManualClock();
  store = await createStore({ path: join(folder, 'skerry.db'), secret: 'secret', now: () => databaseNow });
});
afterEach(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

/** Lets the same time pass for the database and for the server. */
const pass = (ms: number): void => {
  databaseNow += ms;
  manual.advance(ms);
};

const open = (options: Partial<OwnershipOptions>) => {
  const { log, lines } = createRecordingLog();
  const ownership = createOwnership({
    ...{ holder: toHolder('s1'), store, clock: manual.clock, log },
    listed: () => toNodes('n1', 'n2', 'n3', 'n4'),
    isIdle: async () => true,
    onGain: () => undefined,
    onLose: async () => undefined,
    onRound: async () => undefined,
    ...options,
  });
  return { ownership, lines };
};

describe('the ownership of nodes', () => {
  it('holds its lease from the first round until the database has not renewed it in time', async () => {
    const { ownership } = open({});
    expect(ownership.holdsLease()).toBe(false);
    await ownership.start();
    expect(ownership.holdsLease()).toBe(true);
    const renew = vi.spyOn(store, 'renewLeases').mockRejectedValue(new Error('connection refused'));
    pass(leaseMs);
    expect(ownership.holdsLease()).toBe(false);
    renew.mockRestore();
    await ownership.close();
  });

  it('keeps its leases while it claims more nodes than it can in the time of a lease', async () => {
    const taken: boolean[] = [];
    const { ownership } = open({
      isIdle: async () => {
        taken.push(await store.takeLease('n1', toHolder(taken.length === 0 ? 's1' : 's2')));
        pass(leaseMs / 2);
        return true;
      },
    });
    await ownership.start();
    expect(taken).toEqual([true, false, false, false]);
    expect(ownership.nodes()).toEqual(['n1', 'n2', 'n3', 'n4']);
    await ownership.close();
  });

  it('renews its leases while what follows a round is under way, which does not begin again meanwhile', async () => {
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    let begun = 0;
    const { ownership } = open({
      onRound: async () => {
        begun += 1;
        await over;
      },
    });
    const started = ownership.start();
    await expect.poll(() => begun).toBe(1);
    for (let round = 0; round < 6; round += 1) {
      // The last round is over.
      await expect.poll(() => manual.timers.size).toBe(1);
      pass(leaseMs / 3);
      await expect
        .poll(async () => (await store.listLeases()).map(({ ageMs }) => ageMs))
        .toEqual([0, 0, 0, 0, 0, 0]);
    }
    expect(begun).toBe(1);
    end();
    await started;
    await ownership.close();
    expect(await store.listLeases()).toEqual([]);
  });

  it('goes on when what follows a round fails', async () => {
    let begun = 0;
    const { ownership, lines } = open({
      onRound: async () => {
        begun += 1;
        throw new Error('no database');
      },
    });
    await ownership.start();
    pass(leaseMs / 3);
    const failures = () => lines.flatMap(({ level, fields }) => (level === 'warn' ? [fields?.error] : []));
    await expect.poll(failures).toEqual([new Error('no database'), new Error('no database')]);
    expect(begun).toBe(2);
    await ownership.close();
  });

  it('claims a node again when it has the lease of it without knowing', async () => {
    let isLost = true;
    const claimNode = async (node: { name: string; address: string }, holder: LeaseHolder) => {
      const row = await store.claimNode(node, holder);
      if (!isLost) return row;
      isLost = false;
      throw new Error('the answer was lost');
    };
    const gained: number[] = [];
    let listed: { name: string; address: string }[] = [];
    const { ownership } = open({
      listed: () => listed,
      store: { ...store, claimNode: claimNode as Store['claimNode'] },
      onGain: ({ epoch }) => void gained.push(epoch),
    });
    await ownership.start();
    listed = toNodes('n1');
    await expect
      .poll(() => {
        pass(leaseMs / 3);
        return ownership.nodes();
      })
      .toEqual(['n1']);
    expect([isLost, gained]).toEqual([false, [2]]);
    await ownership.close();
  });

  it('connects to the nodes that it has claimed when it has claimed all, also when one cannot be', async () => {
    const acts: string[] = [];
    const { ownership } = open({
      isIdle: async (node) => {
        acts.push(`claim ${node}`);
        if (node === 'n3') throw new Error('no database');
        return true;
      },
      onGain: ({ name }) => void acts.push(`connect to ${name}`),
    });
    await expect(ownership.start()).rejects.toThrow('no database');
    expect(acts).toEqual(['claim n1', 'claim n2', 'claim n3', 'connect to n1', 'connect to n2']);
    await ownership.close();
  });

  it('claims no node any more when it is stopped, and keeps its leases until it is closed', async () => {
    const { promise: idle, resolve: end } = Promise.withResolvers<boolean>();
    let asked = 0;
    const { ownership } = open({
      isIdle: () => {
        asked += 1;
        return idle;
      },
    });
    const started = ownership.start();
    await expect.poll(() => asked).toBe(1);
    const stopped = ownership.stop();
    end(true);
    await Promise.all([started, stopped]);
    pass(leaseMs / 3);
    expect([asked, ownership.nodes()]).toEqual([1, ['n1']]);
    expect((await store.listLeases()).map(({ name }) => name)).toContain('n1');
    await ownership.close();
    expect([ownership.nodes(), await store.listLeases()]).toEqual([[], []]);
  });
});
