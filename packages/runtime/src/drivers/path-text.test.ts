import { expect, it } from 'vitest';
import { toPathBytes, toPathText } from './path-text.ts';

it.each([
  Buffer.from('plain'),
  Buffer.from('ümläut 😀'),
  Buffer.of(0xff, 0x61, 0x80),
  Buffer.of(0x61, 0xed, 0xb2, 0x80, 0x0a),
  Buffer.from('a\nb"\\'),
])('restores the bytes of %o, also through JSON', (name) => {
  expect(toPathBytes(JSON.parse(JSON.stringify(toPathText(name))) as string)).toEqual(name);
});
