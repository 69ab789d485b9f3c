import { expect, it } from 'vitest';
import { CommandOutputLog } from './command-output.ts';

const bytes = new TextEncoder().encode('größe');

async function collect(log: CommandOutputLog) {
  const pieces = [];
  for await (const piece of log) pieces.push(piece);
  return pieces;
}

it('joins a character that arrives in two chunks, separately for each stream', () => {
  const log = new CommandOutputLog();
  expect(log.push('stdout', bytes.subarray(0, 3))).toBe('gr');
  expect(log.push('stderr', bytes)).toBe('größe');
  expect(log.push('stdout', bytes.subarray(3))).toBe('öße');
  expect(log.textOf('stdout')).toBe('größe');
  expect(log.textOf('stderr')).toBe('größe');
});

it('flushes half a character at the end', () => {
  const log = new CommandOutputLog();
  log.push('stderr', bytes.subarray(0, 3));
  expect(log.end()).toEqual([{ stderr: '\ufffd' }]);
});

it('delivers everything in order to every reader, also after the end', async () => {
  const log = new CommandOutputLog();
  const early = collect(log);
  log.push('stdout', new TextEncoder().encode('a'));
  await Promise.resolve();
  log.push('stderr', new TextEncoder().encode('b'));
  log.end();
  const expected = [{ stdout: 'a' }, { stderr: 'b' }];
  expect(await early).toEqual(expected);
  expect(await collect(log)).toEqual(expected);
});

it('ends readers with the error, after all output', async () => {
  const log = new CommandOutputLog();
  log.push('stdout', new TextEncoder().encode('a'));
  log.end(new Error('lost'));
  const reader = log[Symbol.asyncIterator]();
  expect((await reader.next()).value).toEqual({ stdout: 'a' });
  await expect(reader.next()).rejects.toThrow('lost');
});
