import { expect, it } from 'vitest';
import { readDescriptorLimit, watchDescriptors } from './descriptor-watch.ts';

it('logs once when hardly a descriptor is left, and when none is left to look with', async () => {
  const lines: unknown[] = [];
  const log = { warn: (message: string, fields?: object) => lines.push([message, fields]) };
  let open = 50;
  const stop = watchDescriptors({ limit: 100, log, count: () => open, intervalMs: 1 });
  await expect.poll(() => lines).toEqual([]);
  open = 96;
  await expect.poll(() => lines.length).toBe(1);
  stop();
  expect(lines[0]).toEqual([expect.stringContaining('EMFILE'), { open: 96, limit: 100 }]);
  const fail = (): number => {
    throw Object.assign(new Error('too many'), { code: 'EMFILE' });
  };
  const stopOther = watchDescriptors({ limit: 100, log, count: fail, intervalMs: 1 });
  await expect.poll(() => lines.length).toBe(2);
  stopOther();
});

it('reads how many descriptors this process may have', () => {
  expect(readDescriptorLimit()).toBeGreaterThan(100);
});
