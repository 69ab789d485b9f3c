import { expect, it } from 'vitest';
import { createSharedWork } from './shared-work.ts';

const { signal } = new AbortController();
const settle = (
  share: ReturnType<ReturnType<typeof createSharedWork>['begin']>,
  kept: Set<string>,
  keys: string[],
) => {
  const look = async () => {
    const wanted = keys.filter((key) => !kept.has(key));
    return { found: wanted, wanted, makes: wanted };
  };
  const makers: string[] = [];
  const onWait = (maker: string): void => void makers.push(maker);
  const done = share.settle(look, { onWait, signal });
  return { done, makers, readWaits: () => makers.length };
};

it('has a build wait while another one makes what it wants, and then finds that', async () => {
  const [work, kept] = [createSharedWork(), new Set<string>()];
  const [first, second] = [work.begin('b1'), work.begin('b2')];
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
  const first = work.begin('b1');
  await settle(first, kept, ['a']).done;
  const shares = [work.begin('b2'), work.begin('b3')] as const;
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

it('says whether a part of the same build has the work, or another build', async () => {
  const [work, kept] = [createSharedWork(), new Set<string>()];
  const [own, other] = [work.begin('b1'), work.begin('b2')];
  await settle(own, kept, ['a']).done;
  await settle(other, kept, ['b']).done;
  const waiting = [['a'], ['b'], ['b', 'a']].map((keys) => settle(work.begin('b1'), kept, keys));
  for (const { readWaits } of waiting) await expect.poll(readWaits).toBe(1);
  expect(waiting.map(({ makers }) => makers)).toEqual([['this build'], ['another build'], ['this build']]);
  for (const key of ['a', 'b']) kept.add(key);
  own.done('a');
  other.done('b');
  await Promise.all(waiting.map(({ done }) => done));
});

it('ends the wait with the reason of the signal', async () => {
  const work = createSharedWork();
  await settle(work.begin('b1'), new Set(), ['a']).done;
  const abort = new AbortController();
  const look = async () => ({ found: null, wanted: ['a'], makes: [] });
  const onWait = (): void => abort.abort(new Error('enough'));
  await expect(work.begin('b2').settle(look, { onWait, signal: abort.signal })).rejects.toThrow('enough');
});
