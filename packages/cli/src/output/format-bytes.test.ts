import { expect, it } from 'vitest';
import { formatBytes } from './format-bytes.ts';

it('formats a size in its largest unit', () => {
  expect([0, 1023, 1024, 1536 * 2 ** 20, 2 ** 60].map(formatBytes)).toEqual([
    ...['0 B', '1023 B', '1.0 KiB', '1.5 GiB', '1048576.0 TiB'],
  ]);
});
