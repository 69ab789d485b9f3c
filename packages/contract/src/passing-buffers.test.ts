import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { notePassed } from './passing-buffers.ts';

it('passes 1 GiB of chunks without marking the whole heap for each 32 MiB', async () => {
  const countMajor = async (note: (piece: Uint8Array) => void): Promise<number> => {
    let major = 0;
    const observer = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[]) {
        if (entry.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) major += 1;
      }
    });
    observer.observe({ entryTypes: ['gc'] });
    for (let piece = 0; piece < 16_384; piece += 1) {
      note(Buffer.allocUnsafeSlow(64 * 1024));
      if (piece % 16 === 0) await turn();
    }
    await turn();
    observer.disconnect();
    return major;
  };
  const unnoted = await countMajor(() => undefined);
  const noted = await countMajor(notePassed);
  expect(unnoted).toBeGreaterThan(2);
  expect(noted).toBeLessThan(unnoted / 2);
});
