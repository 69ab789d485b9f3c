import { expect, it } from 'vitest';
import { createQueryLimit, MAX_PER_SECOND, MAX_RUNNING } from './query-limit.ts';

it('lets a number of queries run at a time', () => {
  const limit = createQueryLimit();
  for (let index = 0; index < MAX_RUNNING; index++) expect(limit.begin()).toBe(true);
  expect(limit.begin()).toBe(false);
  limit.end();
  expect(limit.begin()).toBe(true);
});

it('lets a number of queries through in a second, however long there was none', () => {
  let at = 0;
  const limit = createQueryLimit(() => at);
  const count = (): number => {
    let begun = 0;
    for (; limit.begin(); begun++) limit.end();
    return begun;
  };
  expect(count()).toBe(MAX_PER_SECOND);
  at = 100;
  expect(count()).toBe(MAX_PER_SECOND / 10);
  at = 1_000_000;
  expect(count()).toBe(MAX_PER_SECOND);
});
