import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { withConcurrencyLimit } from './concurrency-limit.ts';

describe('a concurrency limit', () => {
  it('runs the work for all items in order, with a limited number at a time', async () => {
    const items = Array.from({ length: 20 }, (_, index) => index);
    const begun: number[] = [];
    let most = 0;
    let now = 0;
    await withConcurrencyLimit(items, { limit: 3 }, async (item) => {
      begun.push(item);
      now += 1;
      most = Math.max(most, now);
      await sleep(item % 3);
      now -= 1;
    });
    expect(begun).toEqual(items);
    expect([most, now]).toEqual([3, 0]);
    await withConcurrencyLimit([], { limit: 3 }, () => expect.fail('called'));
  });

  it('rejects with the first failure once no other work is running', async () => {
    let isUnderWay = false;
    const work = async (name: string): Promise<void> => {
      if (name === 'bad') throw new Error('no room');
      isUnderWay = true;
      await sleep(5);
      isUnderWay = false;
    };
    await expect(withConcurrencyLimit(['bad', 'good'], { limit: 2 }, work)).rejects.toThrow('no room');
    expect(isUnderWay).toBe(false);
  });
});
