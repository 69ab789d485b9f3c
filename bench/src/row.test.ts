import { expect, it } from 'vitest';
import { percentile, toRow } from './row.ts';

it('takes the median and the 95th percentile as values that were measured', () => {
  const samples = Array.from({ length: 20 }, (_, index) => 20 - index);
  expect(percentile(samples, 0.5)).toBe(10);
  expect(percentile(samples, 0.95)).toBe(19);
});

it('relates its median to that of the reference', () => {
  const row = toRow({
    name: 'x',
    unit: 'ms',
    samples: [2, 4, 6],
    reference: { name: 'bare', samples: [1, 2, 3] },
  });
  expect(row).toEqual({ name: 'x', unit: 'ms', p50: 4, p95: 6, n: 3, reference: 'bare 2 ms', ratio: 2 });
});

it('takes the slow tail where more is better', () => {
  const samples = Array.from({ length: 20 }, (_, index) => index + 1);
  expect(toRow({ name: 'x', unit: 'MiB/s', samples, better: 'more' })).toMatchObject({ p50: 10, p95: 1 });
  expect(toRow({ name: 'x', unit: 'ms', samples })).toMatchObject({ p50: 10, p95: 19 });
});
