import { expect, it } from 'vitest';
import { toPrintable, toPrintableJson } from './printable.ts';

it.each([
  ['an escape sequence and its C1 form', '\u001b[2J\u009b2J', '\\x1b[2J\\x9b2J'],
  ['line ends, tabs and DEL', 'a\r\n\tb\u007f', 'a\\x0d\\x0a\\x09b\\x7f'],
  ['an override of direction, an isolate and a mark', '\u202ea\u2066b\u200f', '\\u202ea\\u2066b\\u200f'],
  ['separators of lines and paragraphs', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
  ['invisible characters', 'a\u200bb\u00adc\ufeff\u{e0041}', 'a\\u200bb\\xadc\\ufeff\\u{e0041}'],
])('writes out %s', (_what, text, printable) => {
  expect(toPrintable(text)).toBe(printable);
  expect(toPrintableJson({ text })).toMatch(/^[\x20-\x7e]*$/);
  expect(JSON.parse(toPrintableJson({ text }))).toEqual({ text });
});

it('leaves words of every script and emoji as they are', () => {
  const text = 'naïve עברית مرحبا 日本語 می‌خواهم 👩‍💻 \\x1b';
  expect(toPrintable(text)).toBe(text);
  expect(toPrintableJson([text])).toBe(JSON.stringify([text]));
});
