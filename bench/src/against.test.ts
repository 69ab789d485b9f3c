import { expect, it } from 'vitest';
import { compareRounds } from './against.ts';

const row = (name: string, unit: string, p50: number | null) => ({ name, unit, p50, p95: p50, n: 5 });

it('compares the medians of all rounds, and shows the ratio of each', () => {
  const pairs = [
    { here: [row('create', 'ms', 10)], there: [row('create', 'ms', 20)] },
    { here: [row('create', 'ms', 30)], there: [row('create', 'ms', 20)] },
    { here: [row('create', 'ms', 22)], there: [row('create', 'ms', 20)] },
  ];
  expect(compareRounds(pairs)).toEqual([
    { name: 'create', unit: 'ms', here: 22, there: 20, ratio: 1.1, rounds: [0.5, 1.5, 1.1] },
  ]);
});

it.each(['MiB/s', 'MB/s', 'files/s', '1/GiB', '%'])('treats fewer %s as worse', (unit) => {
  const pairs = [{ here: [row('upload', unit, 100)], there: [row('upload', unit, 200)] }];
  expect(compareRounds(pairs)[0]?.ratio).toBe(2);
});

it('omits figures that one of the two did not measure', () => {
  const here = [row('docker.run', 'ms', null), row('new', 'ms', 1)];
  expect(compareRounds([{ here, there: [row('docker.run', 'ms', 5)] }])).toEqual([]);
});

it('also compares the 95th percentile where a round has twenty samples', () => {
  const tail = (n: number, p95: number) => ({ name: 'burst', unit: 'ms', p50: 10, p95, n });
  const names = (n: number) =>
    compareRounds([{ here: [tail(n, 30)], there: [tail(n, 20)] }]).map(({ name, ratio }) => [name, ratio]);
  expect(names(19)).toEqual([['burst', 1]]);
  expect(names(20)).toEqual([
    ['burst', 1],
    ['burst p95', 1.5],
  ]);
});
