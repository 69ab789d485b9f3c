import { afterAll, beforeAll, expect, it } from 'vitest';
import { joinStack, type SharedStack } from '../stack/shared-stack.ts';
import { runFaults } from './fault-run.ts';

let stack: SharedStack;
beforeAll(async () => {
  stack = await joinStack();
});
afterAll(() => stack.leave());

it('brings 30 MB of output, uploads and downloads byte for byte through delays, single bytes, stalls and resets', async () => {
  const { faults, output, upload, download } = await runFaults({
    stack,
    seed: 20_261_120,
    outputBytes: 20_000_000,
    fileCount: 5,
    fileBytes: 1_000_000,
  });
  // Output goes on where it broke; only a command whose very start is lost has to be run again. Files have to be sent again.
  expect(output.told).toBeLessThan(3);
  expect([output.equal, upload.equal, download.equal]).toEqual([1, 5, 5]);
  expect(faults.forwardedBytes).toBeGreaterThan(30_000_000);
  expect(Math.min(faults.delays, faults.splits, faults.stalls, faults.resets)).toBeGreaterThan(3);
});
