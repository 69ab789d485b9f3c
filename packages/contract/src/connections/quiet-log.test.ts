import { expect, it } from 'vitest';
import { createQuietLog } from './quiet-log.ts';

it('writes one line of each message a minute, with the number that it has omitted', () => {
  const lines: unknown[] = [];
  let nowMs = 5;
  const log = createQuietLog({
    warn: (message, fields) => lines.push({ message, ...fields }),
    now: () => nowMs,
  });
  for (let line = 0; line < 500; line += 1) log('one', { line });
  log('two', {});
  nowMs += 59_999;
  log('one', { line: 500 });
  expect(lines).toEqual([{ message: 'one', line: 0 }, { message: 'two' }]);
  nowMs += 1;
  log('one', { line: 501 });
  log('two', {});
  expect(lines.slice(2)).toEqual([{ message: 'one', line: 501, omitted: 500 }, { message: 'two' }]);
});
