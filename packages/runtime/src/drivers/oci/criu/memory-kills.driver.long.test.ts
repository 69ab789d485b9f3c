import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { runInside } from '../../../suite/client.ts';
import { killProgram } from '../testing/kill-program.ts';
import { useOci } from '../testing/oci-fixture.ts';
import { seededMoments } from '../testing/seeded-moments.ts';

const program = fileURLToPath(new URL('../testing/pause-endlessly.ts', import.meta.url));
const oci = useOci({ name: 'memory', memory: true, internet: true });

it('a pause that keeps the memory survives a kill of the driver at any moment of a pause and a resume', async () => {
  const { agentDir, criuDir = '', dataDir, rootfs, toId } = oci;
  const outcomes: Record<string, number> = {};
  const moment = seededMoments();
  for (let round = 0; round < 12; round++) {
    const id = toId();
    const said = await killProgram({
      program,
      argv: [dataDir, agentDir, rootfs, id, criuDir],
      // One moment of each kind is fixed, and the rest are random.
      moment: async (saidSoFar) => {
        if (round === 0) return;
        if (round === 1)
          await vi.waitUntil(() => saidSoFar().includes('kept'), { timeout: 60_000, interval: 1 });
        else await sleep(moment(1_500));
      },
    });
    const kept = Number(/kept (\d+)\n$/.exec(said)?.[1] ?? 0);
    await oci.reopen();
    const found = await oci.runtime.get(id);
    const state = await found.state();
    outcomes[state] = (outcomes[state] ?? 0) + 1;
    expect(['running', 'paused']).toContain(state);
    if (state === 'running') await found.pause({ memory: true });
    await found.resume();
    const names = Array.from({ length: kept }, (_, index) => `/root/${index + 1}`);
    const { output } = await runInside(
      found,
      `cat /dev/null ${names.join(' ')} | wc -l; pgrep -c sleep || ls /proc`,
    );
    expect({ round, lines: output.split('\n')[0] }).toEqual({ round, lines: String(kept) });
    await found.stop();
  }
  expect(Object.keys(outcomes).sort()).toEqual(['paused', 'running']);
});
