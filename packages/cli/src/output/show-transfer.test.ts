import { expect, it } from 'vitest';
import { showTransfer } from './show-transfer.ts';

const collect = (isTTY: boolean) => {
  const pieces: string[] = [];
  const clock = { nowMs: 1000 };
  const stream = { isTTY, write: (piece: string) => pieces.push(piece) > 0 };
  return { transfer: showTransfer(stream, () => clock.nowMs), pieces, clock };
};

it('shows on a terminal the total, the percentage and the rate of a transfer, and erases them at its end', () => {
  const { transfer, pieces, clock } = collect(true);
  transfer.expect(4 * 2 ** 20);
  transfer.add(2 ** 20);
  clock.nowMs += 100;
  transfer.add(2 ** 20);
  clock.nowMs += 400;
  transfer.add(2 ** 19);
  clock.nowMs += 500;
  transfer.add(2 ** 23);
  transfer[Symbol.dispose]();
  expect(pieces.join('').split('\r\u001b[K').slice(1)).toEqual([
    '1.0 MiB of 4.0 MiB, 25 %',
    '2.5 MiB of 4.0 MiB, 62 %, 5.0 MiB/s',
    '10.5 MiB of 4.0 MiB, 100 %, 10.5 MiB/s',
    '',
  ]);
});

it('shows what has passed where the total is not known, and nothing elsewhere than on a terminal', () => {
  const known = collect(true);
  known.transfer.add(10);
  expect(known.pieces).toEqual(['\r\u001b[K10 B']);
  const other = collect(false);
  other.transfer.add(10);
  other.transfer[Symbol.dispose]();
  expect(other.pieces).toEqual([]);
});
