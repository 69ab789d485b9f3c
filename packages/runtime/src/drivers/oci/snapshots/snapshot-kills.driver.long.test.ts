import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import type { Runtime } from '../../../runtime.ts';
import { runInside } from '../../../suite/client.ts';
import { findTraces } from '../../../suite/traces.ts';
import { createOci } from '../oci.ts';
import { killProgram } from '../testing/kill-program.ts';
import { useOci } from '../testing/oci-fixture.ts';
import { seededMoments } from '../testing/seeded-moments.ts';

const program = fileURLToPath(new URL('../testing/snapshot-endlessly.ts', import.meta.url));

const oci = useOci({ name: 'snapshot' });
const { dataDir, reopen, settings, toId } = oci;

const listSnapshots = async (runtime: Runtime): Promise<string[]> => {
  const found: string[] = [];
  for await (const { id } of runtime.snapshots.list()) found.push(id);
  return found;
};

describe('the OCI driver when it is killed while it makes, uses and deletes snapshots', () => {
  const readTurns = (said: string, word: string): number[] =>
    [...said.matchAll(new RegExp(`^${word} (\\d+)$`, 'gm'))].map(([, turn]) => Number(turn));

  const isCapturing = async (said: () => string): Promise<boolean> => {
    const told = new Set(readTurns(said(), 'kept'));
    const names = await readdir(join(dataDir, 'snapshots'));
    return names.some((name) => !told.has(Number(name.split('s').at(-1))));
  };

  it('loses no acknowledged snapshot, leaves no incomplete one, and its sandbox keeps running', async () => {
    await oci.runtime.close();
    const cut = { capture: 0, other: 0 };
    const moment = seededMoments();
    for (let round = 0; round < 10; round++) {
      const id = toId();
      const said = await killProgram({
        program,
        argv: [dataDir, oci.agentDir, oci.rootfs, id],
        // Moments of each kind are certain, or nearly so, and the rest are random.
        moment: async (saidSoFar) => {
          const options = { timeout: 60_000, interval: 1 };
          if (round % 5 === 0) await vi.waitUntil(() => saidSoFar().includes('kept'), options);
          else if (round % 5 === 1) await vi.waitUntil(() => isCapturing(saidSoFar), options);
          else await sleep(moment(700));
        },
      });
      const [kept, deleted] = [readTurns(said, 'kept'), readTurns(said, 'deleted')];
      const folders = (await readdir(join(dataDir, 'snapshots'))).length;
      const next = createOci({ dataDir, agentDir: oci.agentDir });
      const found = await listSnapshots(next);
      if (folders > found.length) cut.capture += 1;
      else cut.other += 1;
      expect(await readdir(join(dataDir, 'snapshots'))).toHaveLength(found.length);
      const last = kept.at(-1) ?? 0;
      // The one that was being deleted may exist or not, and so may one whose end was not reported any more.
      const certain = kept.filter(
        (turn) => turn > (deleted.at(-1) ?? 0) && (turn === last || last - turn > 1),
      );
      expect(found).toEqual(expect.arrayContaining(certain.map((turn) => `${id}s${turn}`)));
      for (const snapshot of found) expect(await next.snapshots.verify(snapshot)).toEqual([]);
      const source = await next.get(id);
      expect(await source.state()).toBe('running');
      expect((await runInside(source, 'echo on')).output).toBe('on\n');
      if (last > 0) {
        const copy = await next.create({ id: toId(), ...settings, snapshot: `${id}s${last}` });
        const check = `ls /root | grep -c '^[0-9]'; tail -n 1 /root/last`;
        expect((await runInside(copy, check)).output).toBe(`${last}\n${last * 500}\n`);
      }
      for await (const instance of next.list()) await instance.stop();
      for (const snapshot of await listSnapshots(next)) await next.snapshots.delete(snapshot);
      await next.close();
      await expect.poll(() => findTraces({ dataDir, ids: [id] })).toEqual([]);
    }
    await reopen();
    expect(Math.min(cut.capture, cut.other), JSON.stringify(cut)).toBeGreaterThan(0);
  });
});
