import { expect, it } from 'vitest';
import { percentile, toRow, toTable, toUnmeasuredRow } from './row.ts';

it('uses measured values for the median and the 95th percentile', () => {
  const samples = Array.from({ length: 20 }, (_, index) => 20 - index);
  expect(percentile(samples, 0.5)).toBe(10);
  expect(percentile(samples, 0.95)).toBe(19);
});

it('divides its median by that of the reference', () => {
  const row = toRow({
    name: 'x',
    unit: 'ms',
    samples: [2, 4, 6],
    reference: { name: 'bare', samples: [1, 2, 3] },
  });
  expect(row).toEqual({ name: 'x', unit: 'ms', p50: 4, p95: 6, n: 3, reference: 'bare 2 ms', ratio: 2 });
});

it('uses the slow tail where more is better', () => {
  const samples = Array.from({ length: 20 }, (_, index) => index + 1);
  expect(toRow({ name: 'x', unit: 'MiB/s', samples, better: 'more' })).toMatchObject({ p50: 10, p95: 1 });
  expect(toRow({ name: 'x', unit: 'ms', samples })).toMatchObject({ p50: 10, p95: 19 });
});

it('checks a row against each of its bounds, and shows the reason only when one is missed', () => {
  const toJudged = (atMost: number) =>
    toRow({
      name: 'x',
      unit: 'ms',
      samples: [2, 4, 6],
      reference: { name: 'bare', samples: [4] },
      bound: [
        { of: 'p95', atMost },
        { of: 'ratio', atMost: 1 },
      ],
      ifMissed: 'it is slow',
    });
  expect(toJudged(6)).toMatchObject({ bound: 'p95 ≤ 6 ms, ≤ 1 ×', isMet: true });
  expect(toJudged(6)).not.toHaveProperty('note');
  expect(toJudged(5)).toMatchObject({ isMet: false, note: 'it is slow' });
});

it('explains below the table why a row has no figures', () => {
  const machine = { cpu: 'Z80', cores: 1, memoryGiB: 2, kernel: '6.1', load: 0, node: '24.0.0' };
  const rows = [
    toRow({ name: 'x', unit: 'ms', samples: [1] }),
    toUnmeasuredRow({ name: 'y', unit: 'ms', reason: 'gone' }),
  ];
  expect(toTable(machine, rows)).toMatch(/\ny +ms +– +– +0\n\ny: not measured: gone$/);
});
