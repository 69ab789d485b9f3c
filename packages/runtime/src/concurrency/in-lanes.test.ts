import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { inLanes } from './in-lanes.ts';

describe('working in lanes', () => {
  it('works on everything in order, on so many at a time', async () => {
    const items = Array.from({ length: 20 }, (_, index) => index);
    const begun: number[] = [];
    let most = 0;
    let now = 0;
    await inLanes(items, { lanes: 3 }, async (item) => {
      begun.push(item);
      now += 1;
      most = Math.max(most, now);
      await sleep(item % 3);
      now -= 1;
    });
    expect(begun).toEqual(items);
    expect([most, now]).toEqual([3, 0]);
    await inLanes([], { lanes: 3 }, () => expect.fail('called'));
  });

  it('rejects with what went wrong when nothing is under way any more', async () => {
    let isUnderWay = false;
    const work = async (name: string): Promise<void> => {
      if (name === 'bad') throw new Error('no room');
      isUnderWay = true;
      await sleep(5);
      isUnderWay = false;
    };
    await expect(inLanes(['bad', 'good'], { lanes: 2 }, work)).rejects.toThrow('no room');
    expect(isUnderWay).toBe(false);
  });
});
