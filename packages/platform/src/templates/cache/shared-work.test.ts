import { expect, it } from 'vitest';
import { createSharedWork } from './shared-work.ts';

const { signal } = new AbortController();
const settle = (
  share: ReturnType<ReturnType<typeof createSharedWork>['begin']>,
  kept: Set<string>,
  keys: string[],
) => {
  let waits = 0;
  const look = async () => {
    const wanted = keys.filter((key) => !kept.has(key));
    return { found: wanted, wanted, makes: wanted };
  };
  const done = share.settle(look, { onWait: () => (waits += 1), signal });
  return { done, readWaits: () => waits };
};

it('has a build wait while another one makes what it wants, and then finds that', async () => {
  const [work, kept] = [createSharedWork(), new Set<string>()];
  const [first, second] = [work.begin(), work.begin()];
  expect(await settle(first, kept, ['a', 'b', 'c']).done).toEqual(['a', 'b', 'c']);
  const other = settle(second, kept, ['a', 'b', 'x']);
  await expect.poll(other.readWaits).toBe(1);
  kept.add('a');
  first.done('a');
  kept.add('b');
  first.done('b');
  expect(await other.done).toEqual(['x']);
});

it('has a build do the work itself when the other one fails, and alone among those that waited', async () => {
  const [work, kept] = [createSharedWork(), new Set<string>()];
  const first = work.begin();
  await settle(first, kept, ['a']).done;
  const shares = [work.begin(), work.begin()] as const;
  const waiting = shares.map((share) => settle(share, kept, ['a']));
  for (const { readWaits } of waiting) await expect.poll(readWaits).toBe(1);
  first[Symbol.dispose]();
  const ends = waiting.map(({ done }, index) => done.then((found) => ({ index, found })));
  const next = await Promise.race(ends);
  expect(next.found).toEqual(['a']);
  kept.add('a');
  shares[next.index]?.done('a');
  expect((await ends[1 - next.index])?.found).toEqual([]);
});

it('ends the wait with the reason of the signal', async () => {
  const work = createSharedWork();
  await settle(work.begin(), new Set(), ['a']).done;
  const abort = new AbortController();
  const look = async () => ({ found: null, wanted: ['a'], makes: [] });
  const onWait = (): void => abort.abort(new Error('enough'));
  await expect(work.begin().settle(look, { onWait, signal: abort.signal })).rejects.toThrow('enough');
});
