import { expect, it } from 'vitest';
import { createTurns } from './turns.ts';

const never = new AbortController().signal;

it('lets as many works run as it may, and the others in the order of their calls', async () => {
  const turns = createTurns(2);
  const log: string[] = [];
  const ends = ['a', 'b', 'c', 'd'].map((name) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = turns.take(async () => {
      log.push(name);
      await promise;
    }, never);
    return { done, resolve };
  });
  await expect.poll(() => log).toEqual(['a', 'b']);
  ends[1]?.resolve();
  await expect.poll(() => log).toEqual(['a', 'b', 'c']);
  for (const { resolve } of ends) resolve();
  await Promise.all(ends.map(({ done }) => done));
  expect(log).toEqual(['a', 'b', 'c', 'd']);
});

it('does not begin a work whose signal aborted while it waited, and lets the next one run', async () => {
  const turns = createTurns(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = turns.take(() => promise, never);
  const abort = new AbortController();
  const second = turns.take(async () => expect.unreachable(), abort.signal);
  const refused = expect(second).rejects.toThrow('enough');
  const third = turns.take(async () => 'third', never);
  abort.abort(new Error('enough'));
  // At once, while the first one still runs.
  await refused;
  resolve();
  await first;
  expect(await third).toBe('third');
});

it('goes on after a work that failed', async () => {
  const turns = createTurns(1);
  await expect(turns.take(() => Promise.reject(new Error('no')), never)).rejects.toThrow('no');
  expect(await turns.take(async () => 1, never)).toBe(1);
});

it('counts the turns that are taken and wanted, and ends each once', async () => {
  const turns = createTurns(1);
  const end = await turns.begin();
  const [second, third] = [turns.begin(), turns.begin()];
  expect([turns.taken, turns.waiting]).toEqual([1, 2]);
  end();
  end();
  const endSecond = await second;
  expect([turns.taken, turns.waiting]).toEqual([1, 1]);
  endSecond();
  (await third)();
  expect([turns.taken, turns.waiting]).toEqual([0, 0]);
});
