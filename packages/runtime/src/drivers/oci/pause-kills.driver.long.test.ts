import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { runInside } from '../../suite/client.ts';
import { findTraces } from '../../suite/traces.ts';
import { createOci } from './oci.ts';
import { killProgram } from './testing/kill-program.ts';
import { useOci } from './testing/oci-fixture.ts';
import { seededMoments } from './testing/seeded-moments.ts';

const program = fileURLToPath(new URL('./testing/pause-endlessly.ts', import.meta.url));

const oci = useOci({ name: 'pause', ownSlots: true });
const { dataDir, toId } = oci;

describe('the OCI driver when it is killed while it pauses and resumes', () => {
  it('loses no file, and the next process resumes or removes the sandbox, at any moment of the kill', async () => {
    const outcomes: Record<string, number> = {};
    const moment = seededMoments();
    for (let round = 0; round < 16; round++) {
      const id = toId();
      const said = await killProgram({
        program,
        argv: [dataDir, oci.agentDir, oci.rootfs, id],
        // One moment of each kind is fixed, and the rest are random.
        moment: async (saidSoFar) => {
          if (round === 0) return;
          if (round === 1)
            await vi.waitUntil(() => saidSoFar().includes('kept'), { timeout: 60_000, interval: 1 });
          else await sleep(moment(900));
        },
      });
      const kept = Number(/kept (\d+)\n$/.exec(said)?.[1] ?? 0);
      const next = createOci({ dataDir, agentDir: oci.agentDir });
      const found = await next.get(id);
      const state = await found.state();
      outcomes[state] = (outcomes[state] ?? 0) + 1;
      expect(['running', 'paused']).toContain(state);
      if (state === 'running') await found.pause({ memory: false });
      await found.resume();
      const names = Array.from({ length: kept }, (_, index) => `/root/${index + 1}`);
      const check = `cat /dev/null ${names.join(' ')} | wc -l; head -n 1 /root/last 2>/dev/null`;
      const { output } = await runInside(found, check);
      expect({ round, lines: output.split('\n')[0] }).toEqual({ round, lines: String(kept) });
      if (round % 2 === 0) await found.pause({ memory: false });
      await found.stop();
      await next.close();
      await expect.poll(() => findTraces({ dataDir, ids: [id] })).toEqual([]);
    }
    expect(Object.keys(outcomes).sort()).toEqual(['paused', 'running']);
  });
});
