import { expect, it } from 'vitest';
import { readHostAllowance } from './host-allowance.ts';
import { toOpenFiles } from './open-files.ts';

it('gives the processes of a sandbox together at most half of the files of the host', () => {
  const host = { openFiles: 1_048_576, fileMax: 20_000_000 };
  for (const processCount of [16, 64, 1024, 2048])
    expect(toOpenFiles(host, processCount) * processCount).toBeLessThanOrEqual(10_000_000);
});

it('gives each process no more than the host gives, and 4096 where the host has few in all', () => {
  expect(toOpenFiles({ openFiles: 20_000, fileMax: Number.MAX_SAFE_INTEGER }, 1024)).toBe(20_000);
  expect(toOpenFiles({ openFiles: 20_000, fileMax: 1_000_000 }, 1024)).toBe(4096);
  expect(toOpenFiles({ openFiles: 1024, fileMax: 1_000_000 }, 1024)).toBe(1024);
  expect(readHostAllowance().fileMax).toBeGreaterThan(1000);
});
