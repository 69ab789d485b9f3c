import { describe, expect, it } from 'vitest';
import { toMemoryDeadlineMs } from './memory-deadline.ts';

describe('the deadline of a dump or restore', () => {
  it('grows with the memory limit', () => {
    expect(toMemoryDeadlineMs(1)).toBe(60_050);
    expect(toMemoryDeadlineMs(256 * 2 ** 20)).toBe(72_800);
    expect(toMemoryDeadlineMs(16 * 2 ** 30)).toBe(879_200);
  });
});
