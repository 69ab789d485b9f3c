import { describe, expect, it } from 'vitest';
import { parseLine } from './parse-line.ts';

const line = {
  seq: 7,
  timestamp: 1_795_168_800_000,
  level: 'info',
  logger: 'process',
  message: 'process started',
  fields: { pid: '12' },
};
const parse = (value: unknown) => parseLine(JSON.stringify(value));

describe('a line of the log of an agent', () => {
  it('is an entry, an origin or a request for usage', () => {
    const { seq, timestamp: at, ...rest } = line;
    expect(parse(line)).toEqual({ case: 'entry', seq, entry: { at, ...rest } });
    expect(parse({ origin: 'a-1' })).toEqual({ case: 'origin', origin: 'a-1' });
    expect(parse({ ask: 'usage' })).toEqual({ case: 'ask' });
  });

  it.each([
    ['not JSON', '{'],
    ['empty', ''],
    ['a list', '[]'],
    ['null', 'null'],
  ])('is refused when it is %s', (_what, text) => {
    expect(parseLine(text)).toBeUndefined();
  });

  it.each([
    ['the platform', { logger: 'platform' }],
    ['no logger', { logger: '' }],
    ['a logger that is not text', { logger: 7 }],
    ['no number', { seq: undefined }],
    ['a number below 1', { seq: 0 }],
    ['a number that is not an integer', { seq: 1.5 }],
    ['a number above the safe integers', { seq: 2 ** 53 }],
    ['no time', { timestamp: 'yesterday' }],
    ['an unknown level', { level: 'fatal' }],
    ['a message that is not text', { message: {} }],
    ['an unknown request', { ask: 'secret', message: undefined }],
    ['an origin that is too long', { origin: 'x'.repeat(65) }],
  ])('is refused with %s', (_what, change) => {
    expect(parse({ ...line, ...change })).toBeUndefined();
  });

  it('is cut to a bounded size, whatever it contains', () => {
    const fields = Object.fromEntries(
      Array.from({ length: 100 }, (_, index) => [`${index}-${'n'.repeat(100)}`, 'v'.repeat(5_000)]),
    );
    const huge = parse({ ...line, logger: 'l'.repeat(500), message: 'm'.repeat(9_000), fields });
    if (huge?.case !== 'entry') throw new Error('not an entry');
    expect(huge.entry.logger).toHaveLength(64);
    expect(huge.entry.message).toHaveLength(2_000);
    expect(Object.keys(huge.entry.fields)).toHaveLength(16);
    expect(JSON.stringify(huge.entry).length).toBeLessThan(22_000);
  });

  it('keeps only fields that are text, of any name', () => {
    const text = `{"seq":1,"timestamp":1,"level":"warn","logger":"x","message":"","fields":{"a":1,"b":null,"__proto__":"c","d":"e"}}`;
    const parsed = parseLine(text);
    if (parsed?.case !== 'entry') throw new Error('not an entry');
    expect(Object.entries(parsed.entry.fields)).toEqual([
      ['__proto__', 'c'],
      ['d', 'e'],
    ]);
    expect(parse({ ...line, fields: ['a'] })).toMatchObject({ entry: { fields: {} } });
  });

  it('is never cut in the middle of a character', () => {
    const parsed = parse({ ...line, message: `${'m'.repeat(1_999)}😀` });
    if (parsed?.case !== 'entry') throw new Error('not an entry');
    expect(parsed.entry.message.isWellFormed()).toBe(true);
  });
});
